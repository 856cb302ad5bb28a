//! Where to go after log-in: always a page of this host, for any URL.

/// The longest is the request of an application, with the URLs of its document and its own.
const BYTES_MAX: usize = 4096;

/// The path, if it can only lead to this host. Browsers treat `//host` and `/\host` as another host, and drop
/// tabs and line breaks first, so none of those may be in it.
pub(super) fn own_path(path: &str) -> Option<&str> {
    let begins_here = path.starts_with('/') && !path.starts_with("//");
    let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    (begins_here && plain && path.len() <= BYTES_MAX).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_paths_are_accepted() {
        for path in ["/", "/dashboard/", "/addons/?a=b#c", "/checkout/0a1b/return/"] {
            assert_eq!(own_path(path), Some(path));
        }
    }

    #[test]
    fn redirects_to_other_hosts_are_refused() {
        for path in [
            "",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/a\\b",
            "https://evil.example/",
            "https:evil.example",
            "javascript:alert(1)",
            "dashboard/",
            " /dashboard/",
            "/\t/evil.example",
            "\t//evil.example",
            "/\n/evil.example",
            "/\r\nset-cookie: a=b",
            "/\u{0}",
            "/é",
        ] {
            assert_eq!(own_path(path), None, "{path:?}");
        }
        assert_eq!(own_path(&format!("/{}", "a".repeat(BYTES_MAX))), None, "too long");
    }
}
