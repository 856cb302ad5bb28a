//! Counts by name: pairs in an event, an object in a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<K, S>(values: &[(K, u32)], serializer: S) -> Result<S::Ok, S::Error>
where
    K: Ord + Copy + Serialize,
    S: Serializer,
{
    values.iter().copied().collect::<BTreeMap<_, _>>().serialize(serializer)
}

pub(super) fn deserialize<'de, K, D>(deserializer: D) -> Result<Vec<(K, u32)>, D::Error>
where
    K: Ord + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(BTreeMap::<K, u32>::deserialize(deserializer)?.into_iter().collect())
}
