//! The elements of a document, one after the other, with what they stand in.
//!
//! Text, comments and instructions are passed over. A document type is not read and its entities are
//! not known, so nothing in a document can grow: an attribute that names one is refused.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use super::NOTICES_MAX;
use crate::error::{DecodeError, RefusalKind};

/// Elements that stand in each other. The feed needs six.
const DEPTH_MAX: usize = 64;

/// Attributes of one element that are read. The feed's largest has some forty.
const ATTRIBUTES_MAX: usize = 64;

/// Bytes of an attribute that is read; longer ones are refused. The longest known is a list of
/// specifiers of 300.
const VALUE_BYTES_MAX: usize = 4096;

/// An element without what is in it. Its name is without the prefix of its namespace; an attribute
/// with one is none of the feed's, and is found under its whole name.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// The value of an attribute, wherever among the others it stands.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Hands each element to `visit` with the names of those that it stands in, the root first. Says
/// why the document ends before its end, if it does; what was complete until then was visited, and
/// the second value names what was open there.
pub(super) fn walk(
    text: &str,
    notices: &mut Vec<DecodeError>,
    mut visit: impl FnMut(&[String], &Element, &mut Vec<DecodeError>),
) -> Option<(DecodeError, Vec<String>)> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<String> = Vec::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                let element = element(&start, notices);
                visit(&open, &element, notices);
                open.push(element.name);
                if open.len() > DEPTH_MAX {
                    return Some((syntax(format!("nested deeper than {DEPTH_MAX}")), open));
                }
            }
            Ok(Event::Empty(start)) => visit(&open, &element(&start, notices), notices),
            Ok(Event::End(_)) => drop(open.pop()),
            Ok(Event::Eof) if open.is_empty() => return None,
            Ok(Event::Eof) => {
                let reason = format!("it ends in the middle of {}", open.join(" "));
                return Some((DecodeError::new(RefusalKind::Truncated, reason), open));
            }
            Ok(_) => {}
            Err(error) => return Some((syntax(shortened(&error.to_string())), open)),
        }
    }
}

fn element(start: &BytesStart<'_>, notices: &mut Vec<DecodeError>) -> Element {
    let mut attributes = Vec::new();
    for attribute in start.attributes().with_checks(false).take(ATTRIBUTES_MAX) {
        let value = attribute.map_err(|error| error.to_string()).and_then(|attribute| {
            let key = attribute.key.as_ref().to_owned();
            if attribute.value.len() > VALUE_BYTES_MAX || key.len() > VALUE_BYTES_MAX {
                return Err(format!("an attribute has more than {VALUE_BYTES_MAX} bytes"));
            }
            let value = attribute.normalized_value(XmlVersion::Explicit1_0);
            value.map(|value| (key, value.into_owned())).map_err(|error| error.to_string())
        });
        match value {
            Ok(attribute) => attributes.push(attribute),
            Err(reason) if notices.len() < NOTICES_MAX => {
                notices.push(syntax(shortened(&reason)));
            }
            Err(_) => {}
        }
    }
    let name = start.local_name();
    let name = name.as_ref();
    // No known name is this long, and names are kept while their element is open.
    let short = if name.len() <= DEPTH_MAX { name } else { "" };
    Element { name: short.to_owned(), attributes }
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

fn syntax(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Syntax, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements as `path name attribute=value`, and why it ended.
    fn walked(text: &str) -> (Vec<String>, Vec<String>, Option<String>) {
        let (mut seen, mut notices) = (Vec::new(), Vec::new());
        let end = walk(text, &mut notices, |path, element, _| {
            let attributes: Vec<_> =
                element.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let path = path.join("/");
            seen.push(format!("{path} {} {}", element.name, attributes.join(" ")));
        });
        let reasons = notices.into_iter().map(|it| it.reason).collect();
        (seen, reasons, end.map(|(error, _)| error.reason))
    }

    #[test]
    fn elements_are_walked_with_their_parents() {
        let text = r#"<?xml version="1.0"?><!-- no --><a:r xmlns:a="u" x='1'><b y="&amp;2">t</b><c/></a:r>"#;
        let (seen, notices, end) = walked(text);
        assert_eq!(seen, [" r xmlns:a=u x=1", "r b y=&2", "r c "]);
        assert_eq!((notices, end), (vec![], None));
    }

    #[test]
    fn document_type_entities_are_not_expanded() {
        let bomb = r#"<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><r x="&b;" y="1"/>"#;
        let (seen, notices, end) = walked(bomb);
        assert_eq!((seen, end), (vec![" r y=1".to_owned()], None));
        assert_eq!(notices.len(), 1);
    }

    #[test]
    fn nesting_values_and_attributes_are_limited() {
        let (seen, _, end) = walked(&"<a>".repeat(100_000));
        assert_eq!((seen.len(), end.as_deref()), (65, Some("nested deeper than 64")));
        let (seen, notices, _) = walked(&format!(r#"<r x="{}" y="1"/>"#, "v".repeat(1 << 20)));
        assert_eq!(seen, [" r y=1"]);
        assert_eq!(notices, ["an attribute has more than 4096 bytes"]);
        let many: String = (0..10_000).map(|at| format!(" a{at}=''")).collect();
        assert_eq!(walked(&format!("<r{many}/>")).0[0].split(' ').count(), 66);
    }

    #[test]
    fn broken_documents_report_the_place() {
        assert_eq!(walked("<a><b>").2.as_deref(), Some("it ends in the middle of a b"));
        assert!(walked("<a></b>").2.is_some());
        assert!(walked("<a").2.is_some());
        assert_eq!(walked("").2, None);
    }
}
