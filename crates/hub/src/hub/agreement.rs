//! How far sources of the same matches agree.

use super::Hub;

/// How far a source agrees with the sources whose scores clients see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Matches whose score it reports while clients see that of another source.
    pub compared: u32,
    /// Of these, the matches whose score it reports otherwise than clients see it.
    pub differing: u32,
}

impl Hub {
    /// The agreement of each source, in the order of [`Hub::sources`].
    #[must_use]
    pub fn agreements(&self) -> Vec<Agreement> {
        let mut all = vec![Agreement::default(); self.sources.len()];
        for (source, is_same) in
            self.matches.values().flat_map(|entry| entry.state.compared_sources())
        {
            let agreement = &mut all[source.0];
            agreement.compared += 1;
            agreement.differing += u32::from(!is_same);
        }
        all
    }
}
