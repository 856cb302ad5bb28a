//! The metadata document of a client: parsing and checks.

use serde::Deserialize;

use super::{ClientError, ClientId, RedirectUri};

/// Characters of a name that are shown.
const NAME_CHARS_MAX: usize = 80;
const REDIRECTS_MAX: usize = 32;

/// A client, as its document describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub id: ClientId,
    /// The name it gives itself, without control characters; its host if it has none.
    pub name: String,
    redirects: Vec<RedirectUri>,
}

/// The fields that matter (RFC 7591 section 2).
#[derive(Debug, Deserialize)]
struct Document {
    client_id: String,
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
    client_secret: Option<serde::de::IgnoredAny>,
}

impl Client {
    /// Parses the document that was fetched from the URL `id`.
    ///
    /// # Errors
    ///
    /// [`ClientError::Document`].
    pub(super) fn parse(id: &ClientId, json: &[u8]) -> Result<Self, ClientError> {
        let wrong = |why| ClientError::Document { why };
        let document: Document = serde_json::from_slice(json)
            .map_err(|_| wrong("it is not JSON, or client_id or redirect_uris is missing"))?;
        // Otherwise anybody who can publish a file on a host could speak for another client.
        if document.client_id != id.as_str() {
            return Err(wrong("its client_id is not its own address"));
        }
        if document.client_secret.is_some() {
            return Err(wrong("it contains a secret"));
        }
        let allows = |listed: &Option<Vec<String>>, name: &str| {
            listed.as_ref().is_none_or(|listed| listed.iter().any(|it| it == name))
        };
        if document.token_endpoint_auth_method.is_some_and(|method| method != "none") {
            return Err(wrong("token_endpoint_auth_method must be none"));
        }
        if !allows(&document.grant_types, "authorization_code")
            || !allows(&document.response_types, "code")
        {
            return Err(wrong("it does not use authorization codes"));
        }
        if document.redirect_uris.len() > REDIRECTS_MAX {
            return Err(wrong("it has too many redirect_uris"));
        }
        // Unusable ones are skipped: a document may be written for other servers too.
        let parsed = document.redirect_uris.iter().filter_map(|uri| RedirectUri::parse(uri));
        let redirects: Vec<_> = parsed.collect();
        if redirects.is_empty() {
            return Err(wrong("it has no usable redirect_uris"));
        }
        let name = document.client_name.as_deref().map(plain).unwrap_or_default();
        let name = if name.is_empty() { id.host() } else { name };
        Ok(Self { id: id.clone(), name, redirects })
    }

    /// The redirect URI of a request, if the document lists it.
    #[must_use]
    pub fn redirect(&self, requested: &str) -> Option<RedirectUri> {
        let requested = RedirectUri::parse(requested)?;
        self.redirects.iter().any(|registered| registered.covers(&requested)).then_some(requested)
    }
}

/// One line of bounded length. Control characters and marks that reorder text are removed: a name
/// must not disguise what stands next to it.
fn plain(text: &str) -> String {
    let is_mark = |c: char| {
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{61c}' | '\u{2028}' | '\u{2029}')
    };
    let kept = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let kept = kept.filter(|c| !c.is_control() && !is_mark(*c)).take(NAME_CHARS_MAX);
    kept.collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "https://app.example/client.json";

    fn parse(changes: &Value) -> Result<Client, ClientError> {
        let mut document = json!({
            "client_id": ID,
            "client_name": "An app",
            "redirect_uris": ["https://app.example/cb", "http://127.0.0.1/cb"],
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "logo_uri": "https://app.example/logo.png",
        });
        for (name, value) in changes.as_object().unwrap() {
            document[name] = value.clone();
        }
        Client::parse(&ClientId::parse(ID, false).unwrap(), document.to_string().as_bytes())
    }

    #[test]
    fn document_yields_name_and_redirects() {
        let client = parse(&json!({})).unwrap();
        assert_eq!(client.name, "An app");
        assert!(client.redirect("https://app.example/cb").is_some());
        assert!(client.redirect("http://127.0.0.1:5000/cb").is_some());
        assert!(client.redirect("https://app.example/other").is_none());
        assert!(client.redirect("javascript:alert(1)").is_none());
    }

    #[test]
    fn unusable_documents_are_refused() {
        for (changes, part) in [
            (json!({"client_id": "https://app.example/other.json"}), "own address"),
            (json!({"client_id": null}), "not JSON"),
            (json!({"redirect_uris": null}), "not JSON"),
            (json!({"redirect_uris": []}), "no usable"),
            (json!({"redirect_uris": ["javascript:alert(1)"]}), "no usable"),
            (json!({"redirect_uris": vec!["https://a.test/"; 33]}), "too many"),
            (json!({"client_secret": "x"}), "secret"),
            (json!({"token_endpoint_auth_method": "client_secret_basic"}), "must be none"),
            (json!({"grant_types": ["client_credentials"]}), "authorization codes"),
            (json!({"response_types": ["token"]}), "authorization codes"),
        ] {
            let error = parse(&changes).unwrap_err().to_string();
            assert!(error.contains(part), "{changes}: {error}");
        }
    }

    #[test]
    fn name_is_one_plain_line() {
        let name = |name: Value| parse(&json!({ "client_name": name })).unwrap().name;
        assert_eq!(name(json!("  A\n\u{202e}b\u{200b}c\u{7}  ")), "A bc");
        assert_eq!(name(json!("é".repeat(200))).chars().count(), NAME_CHARS_MAX);
        assert_eq!(name(json!("\u{202e}")), "app.example");
        assert_eq!(name(Value::Null), "app.example");
    }
}
