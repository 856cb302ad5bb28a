//! A patch as a channel publishes it and as its tail keeps it.
//!
//! Most patches are a few levels of one ladder, six objects deep. As a tree, each of these objects
//! would be an allocation; as a list of fields, the whole patch is one. Such a list becomes a tree
//! when it is merged.

use crate::document::{Barrier, FieldKey, Node, Object};

/// A JSON merge patch (RFC 7396).
#[derive(Debug, Clone, PartialEq)]
pub enum Patch {
    Tree(Object),
    List(FieldList),
}

/// The fields of an object and of the objects in it, in the order of their text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldList(Vec<Field>);

/// A field of the object that was opened last, at the depth before its own. The outermost object has
/// depth 0. [`Node::Object`] opens an object, whose fields follow.
#[derive(Debug, Clone, PartialEq)]
struct Field {
    depth: u8,
    key: FieldKey,
    node: Node,
}

impl Patch {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Tree(object) => object.is_empty(),
            Self::List(fields) => fields.0.is_empty(),
        }
    }

    /// Composes a later patch into this one, so that applying the result once is applying both.
    ///
    /// # Errors
    ///
    /// [`Barrier`] when no single merge patch does that. This one then says the same as before.
    pub fn merge(&mut self, later: &Self) -> Result<(), Barrier> {
        if let Self::List(fields) = self {
            *self = Self::Tree(fields.to_object());
        }
        let Self::Tree(tree) = self else { unreachable!("it was made a tree above") };
        match later {
            Self::Tree(later) => tree.merge(later),
            Self::List(later) => tree.merge(&later.to_object()),
        }
    }

    /// Bytes of memory that this patch holds, roughly: what the tail's budget counts.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Tree(object) => object.weight(),
            // No field holds more than itself.
            Self::List(fields) => fields.0.capacity() * size_of::<Field>(),
        }
    }

    /// Appends the patch as JSON text.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Tree(object) => object.write(out),
            Self::List(fields) => fields.write(out),
        }
    }

    /// The value of a field of the outermost object.
    #[cfg(test)]
    pub(crate) fn get(&self, key: &FieldKey) -> Option<Node> {
        match self {
            Self::Tree(object) => object.get(key).cloned(),
            Self::List(fields) => fields.to_object().get(key).cloned(),
        }
    }
}

impl From<Object> for Patch {
    fn from(object: Object) -> Self {
        Self::Tree(object)
    }
}

impl From<FieldList> for Patch {
    fn from(fields: FieldList) -> Self {
        Self::List(fields)
    }
}

/// An object of plain values.
impl From<Object> for FieldList {
    fn from(object: Object) -> Self {
        let mut fields = Self::default();
        object.into_fields().for_each(|(key, node)| fields.set(0, key, node));
        fields
    }
}

impl FieldList {
    /// Makes room for this many more fields, those of inner objects included.
    pub fn reserve(&mut self, fields: usize) {
        self.0.reserve_exact(fields);
    }

    /// Opens an object at this depth. The caller knows that the object around it has none of that
    /// name.
    pub fn open(&mut self, depth: u8, key: impl Into<FieldKey>) {
        self.0.push(Field { depth, key: key.into(), node: Node::Object(Object::default()) });
    }

    /// Sets a plain value in the object that was opened last at the depth before this one, in place of
    /// the one of that name.
    pub fn set(&mut self, depth: u8, key: impl Into<FieldKey>, value: impl Into<Node>) {
        let (key, node) = (key.into(), value.into());
        debug_assert!(!matches!(node, Node::Object(_) | Node::List(_)), "it is a plain value");
        let mut fields = self.0.iter_mut().rev().take_while(|field| field.depth >= depth);
        match fields.find(|field| field.depth == depth && field.key == key) {
            Some(field) => field.node = node,
            None => self.0.push(Field { depth, key, node }),
        }
    }

    /// Sets a plain value that is there.
    pub fn set_some(
        &mut self,
        depth: u8,
        key: impl Into<FieldKey>,
        value: Option<impl Into<Node>>,
    ) {
        if let Some(value) = value {
            self.set(depth, key, value);
        }
    }

    /// Sets a plain value, or deletes it where it is absent.
    pub fn set_or_null(
        &mut self,
        depth: u8,
        key: impl Into<FieldKey>,
        value: Option<impl Into<Node>>,
    ) {
        self.set(depth, key, value.map_or(Node::Null, Into::into));
    }

    /// The same fields as a tree.
    #[must_use]
    pub fn to_object(&self) -> Object {
        object(&self.0)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        let (mut open, mut is_first) = (0, true);
        for Field { depth, key, node } in &self.0 {
            while open > *depth {
                out.push(b'}');
                (open, is_first) = (open - 1, false);
            }
            if !is_first {
                out.push(b',');
            }
            key.write(out);
            out.push(b':');
            is_first = matches!(node, Node::Object(_));
            if is_first {
                out.push(b'{');
                open = depth + 1;
            } else {
                node.write(out);
            }
        }
        out.resize(out.len() + usize::from(open) + 1, b'}');
    }
}

/// The object of these fields, the first of which is its own.
fn object(mut fields: &[Field]) -> Object {
    let mut out = Object::default();
    while let Some((Field { depth, key, node }, rest)) = fields.split_first() {
        let inner = rest.iter().take_while(|field| field.depth > *depth).count();
        let (inner, rest) = rest.split_at(inner);
        let node = match node {
            Node::Object(_) => Node::Object(object(inner)),
            plain => plain.clone(),
        };
        out.set(key.clone(), node);
        fields = rest;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::document::tests::tree;

    /// The same fields as a list.
    fn list(object: &Object, depth: u8, out: &mut FieldList) {
        for (key, node) in object.fields() {
            match node {
                Node::Object(inner) => {
                    out.open(depth, key.clone());
                    list(inner, depth + 1, out);
                }
                plain => out.set(depth, key.clone(), plain.clone()),
            }
        }
    }

    fn text(patch: &Patch) -> String {
        let mut out = Vec::new();
        patch.write(&mut out);
        String::from_utf8(out).expect("what is written is UTF-8")
    }

    proptest! {
        /// A list has the text of its tree, and merges as its tree does.
        #[test]
        fn field_list_equals_its_tree(one in tree(), other in tree()) {
            let lists = [&one, &other].map(|tree| {
                let mut fields = FieldList::default();
                list(tree, 0, &mut fields);
                Patch::from(fields)
            });
            let trees = [one, other].map(Patch::from);
            prop_assert_eq!(text(&lists[0]), text(&trees[0]));
            prop_assert_eq!(lists[0].is_empty(), trees[0].is_empty());
            let [mut list, later_list] = lists;
            let [mut tree, later_tree] = trees;
            prop_assert_eq!(list.merge(&later_list), tree.merge(&later_tree));
            prop_assert_eq!(text(&list), text(&tree));
        }
    }

    #[test]
    fn later_value_replaces_the_earlier_one_in_the_same_object() {
        let mut fields = FieldList::default();
        fields.set(0, "a", 1_u32);
        fields.open(0, "b");
        fields.set(1, "a", 2_u32);
        fields.open(1, "c");
        fields.set(2, "a", 3_u32);
        fields.set(2, "a", 4_u32);
        fields.open(0, "d");
        fields.set(1, "a", 5_u32);
        let text = text(&fields.into());
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        assert_eq!(text, r#"{"a":1,"b":{"a":2,"c":{"a":4}},"d":{"a":5}}"#);
    }
}
