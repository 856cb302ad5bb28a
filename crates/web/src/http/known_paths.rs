//! The paths below the products. A request to any other path is answered with 404 and is not counted.

use rustc_hash::FxHashMap;

/// A tree of path segments; a segment in braces matches any one.
#[derive(Debug, Default)]
pub(crate) struct KnownPaths {
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    children: FxHashMap<Box<str>, Self>,
    parameter: Option<Box<Self>>,
    is_path: bool,
    /// Every path below it matches.
    is_prefix: bool,
}

impl KnownPaths {
    /// Builds the tree from route patterns such as `/api/v2/events/{id}/`; `/stream/v1/channels/{*channel}`
    /// matches the rest.
    pub(crate) fn new<'a>(routes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut paths = Self::default();
        for route in routes {
            let mut node = &mut paths.root;
            for segment in segments(route) {
                if segment.starts_with("{*") {
                    node.is_prefix = true;
                } else if segment.starts_with('{') {
                    node = &mut **node.parameter.get_or_insert_default();
                } else {
                    node = node.children.entry(segment.into()).or_default();
                }
            }
            node.is_path |= !node.is_prefix;
        }
        paths
    }

    /// Whether the path exists, with or without a trailing slash.
    pub(crate) fn contains(&self, path: &str) -> bool {
        self.root.contains(segments(path))
    }
}

impl Node {
    /// Recurses at most as deep as the deepest route, for any path.
    fn contains<'a>(&self, mut rest: impl Iterator<Item = &'a str> + Clone) -> bool {
        let Some(segment) = rest.next() else { return self.is_path };
        self.is_prefix
            || self.children.get(segment).is_some_and(|node| node.contains(rest.clone()))
            || self.parameter.as_ref().is_some_and(|node| node.contains(rest))
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|segment| !segment.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_known_by_their_segments() {
        let paths = KnownPaths::new([
            "/api/",
            "/api/events/{id}/",
            "/api/events/live/",
            "/api/{kind}/all/",
            "/stream/v1/channels/{*channel}",
        ]);
        let check =
            |path: &str, expected: bool| assert_eq!(paths.contains(path), expected, "{path}");
        check("/api/", true);
        check("/api", true);
        check("/api/events/7/", true);
        check("/api/events/live", true);
        check("/api/events/all/", true);
        check("/api/teams/all/", true);
        check("/stream/v1/channels/football/1", true);
        check("/", false);
        check("/api/events/", false);
        check("/api/events/7/more/", false);
        check("/mcp/", false);
        check("/stream/v1/channels/", false);
    }
}
