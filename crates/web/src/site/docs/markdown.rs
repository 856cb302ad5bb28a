//! Converts the body of a page to Markdown, so that each page has one source.

use std::sync::LazyLock;

use htmd::{
    Element, HtmlToMarkdown,
    element_handler::{HandlerResult, Handlers},
    options::{BulletListMarker, Options},
};

use super::CONTENTS;

static CONVERTER: LazyLock<HtmlToMarkdown> = LazyLock::new(|| {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    HtmlToMarkdown::builder()
        .options(options)
        // What works only on the page.
        .skip_tags(vec!["button", "nav", "script", "style"])
        .add_handler(vec!["dt"], |handlers: &dyn Handlers, element: Element<'_>| {
            Some(list_item(handlers, &element, "\n- ", ""))
        })
        .add_handler(vec!["dd"], |handlers: &dyn Handlers, element: Element<'_>| {
            Some(list_item(handlers, &element, ": ", ""))
        })
        .add_handler(vec!["figcaption"], |handlers: &dyn Handlers, element: Element<'_>| {
            Some(list_item(handlers, &element, "\n\n", "\n\n"))
        })
        .build()
});

fn list_item(
    handlers: &dyn Handlers,
    element: &Element<'_>,
    before: &str,
    after: &str,
) -> HandlerResult {
    let content = handlers.walk_children(element.node).content;
    format!("{before}{}{after}", content.trim()).into()
}

/// Converts a page. Links become absolute, and links to other pages lead to their Markdown.
///
/// # Errors
///
/// If the HTML cannot be read.
pub(super) fn convert(html: &str, base: &str) -> std::io::Result<String> {
    // The converter ignores header cells in the body of a table. The parser closes the new cell where the
    // next one begins.
    let mut html = html.replace("<th scope=\"row\">", "<td>");
    for entry in CONTENTS {
        let (page, markdown) = (entry.path, entry.markdown());
        for end in ['"', '#'] {
            let link = format!("href=\"{page}{end}");
            html = html.replace(&link, &format!("href=\"{markdown}{end}"));
        }
    }
    let html = html.replace("href=\"/", &format!("href=\"{base}/"));
    let mut markdown = CONVERTER.convert(&html)?;
    markdown.push('\n');
    Ok(markdown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expected: &str) {
        let markdown = convert(html, "https://api.test").unwrap();
        assert_eq!(markdown.trim_end(), expected, "{html}");
    }

    #[test]
    fn headings_paragraphs_and_lists_are_converted() {
        check(
            "<h1>A</h1>\n<p>One <strong>two</strong> <code>x_y</code>.</p>",
            "# A\n\nOne **two** `x_y`.",
        );
        check("<ol class=\"steps\">\n  <li>One</li>\n  <li>Two</li>\n</ol>", "1. One\n2. Two");
        check(
            "<dl><dt>A</dt>\n<dd>One.</dd>\n<dt>B</dt>\n<dd>Two.</dd></dl>",
            "- A: One.\n- B: Two.",
        );
    }

    #[test]
    fn tables_keep_the_header_of_each_row() {
        check(
            "<div class=\"wide\"><table>\n<thead><tr><th>Code</th><th>Reason</th></tr></thead>\n<tbody>\n\
             <tr><th scope=\"row\">4401</th><td><code>a</code>: no key</td></tr>\n</tbody></table></div>",
            "| Code | Reason      |\n| ---- | ----------- |\n| 4401 | `a`: no key |",
        );
    }

    #[test]
    fn code_keeps_its_lines_and_loses_what_is_for_the_page() {
        check(
            "<figure><figcaption><span>mcp.json</span><button>Copy</button></figcaption>\
             <pre id=\"x\"><code class=\"language-json\">{\n  \"key\": \"<span data-key>K</span>\" &lt;\n}</code></pre></figure>",
            "mcp.json\n\n```json\n{\n  \"key\": \"K\" <\n}\n```",
        );
    }

    #[test]
    fn links_lead_to_markdown_and_are_absolute() {
        check("<a href=\"/docs/rest/\">R</a>", "[R](https://api.test/docs/rest.md)");
        check(
            "<a href=\"/docs/authentication/#401\">A</a>",
            "[A](https://api.test/docs/authentication.md#401)",
        );
        check("<a href=\"/pricing/\">P</a>", "[P](https://api.test/pricing/)");
        check("<a href=\"https://a.test/\">E</a>", "[E](https://a.test/)");
    }
}
