//! Text from profiles inside HTML, SVG and JSON.

/// Text for HTML and XML content and quoted attributes. Control characters,
/// which XML cannot hold, become visible.
pub(super) fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if must_show(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// A JSON text that may stand inside a `script` element: no `<` remains.
pub(super) fn json_text(text: &str) -> String {
    let visible: String = text
        .chars()
        .flat_map(|c| if must_show(c) { c.escape_unicode().collect::<Vec<_>>() } else { vec![c] })
        .collect();
    serde_json::Value::String(visible).to_string().replace('<', "\\u003c")
}

/// Controls, and marks that turn the direction of text and so can disguise it.
fn must_show(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_the_surrounding_markup() {
        let name = "</script><img src=x onerror=\"a('b')\">&\u{1}\u{202e}]]>";
        let text = markup(name);
        assert!(!text.contains(['<', '>', '"', '\'', '\u{1}', '\u{202e}']), "{text}");
        assert!(text.contains("\\u{1}") && text.contains("&amp;"));
        let json = json_text(name);
        assert!(!json.contains('<'), "{json}");
        let back: String = serde_json::from_str(&json).unwrap();
        assert!(back.starts_with("</script><img"));
    }
}
