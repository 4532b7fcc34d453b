//! The language of a page, chosen by the browser's preferences (`Accept-Language`).
//!
//! The built page contains the parts of all languages, each on a line of its own that names its
//! language: the file with its texts, and what is shown without JavaScript.

use http::{HeaderMap, header};

/// Marks a line of the built page that belongs to one language.
const MARK: &str = " data-language=\"";
/// The language of the built page.
const BUILT: &str = "<html lang=\"en\"";

/// The offered language that the browser prefers, else the first one. The script decides again by
/// the preferences it sees, which some browsers do not send completely.
pub(super) fn choose<'a>(request: &HeaderMap, offered: &'a [String]) -> &'a str {
    let lines = request.get_all(header::ACCEPT_LANGUAGE).iter();
    let mut wanted: Vec<(u16, &str)> = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .filter_map(weighted)
        .collect();
    // Stable: languages of equal weight stay in their order.
    wanted.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    let mut wanted = wanted.into_iter();
    let found = wanted.find_map(|(_, language)| {
        let mut offered = offered.iter();
        offered.find(|offered| offered.eq_ignore_ascii_case(language))
    });
    found
        .or(offered.first())
        .map_or("en", |language| language.as_str())
}

/// `de-AT;q=0.8` is `(800, "de")`; `None` for what is not wanted.
fn weighted(item: &str) -> Option<(u16, &str)> {
    let mut parts = item.split(';').map(str::trim);
    let language = parts.next()?.split('-').next()?;
    let weight = match parts.find_map(|part| part.strip_prefix("q=")) {
        Some(text) => (text.parse::<f32>().ok()?.clamp(0.0, 1.0) * 1000.0) as u16,
        None => 1000,
    };
    (weight > 0).then_some((weight, language))
}

/// The page in one language.
pub(super) fn localise(template: &str, language: &str) -> String {
    let own = format!("{MARK}{language}\"");
    let lines = template.lines();
    let kept: Vec<&str> = lines
        .filter(|line| !line.contains(MARK) || line.contains(&own))
        .collect();
    kept.join("\n")
        .replacen(BUILT, &format!("<html lang=\"{language}\""), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_language_is_chosen() {
        let offered = ["en", "de", "pt"].map(str::to_owned);
        for (accepted, expected) in [
            ("de", "de"),
            ("de-AT,de;q=0.9,en;q=0.8", "de"),
            ("fr-FR, pt-BR;q=0.7, en;q=0.3", "pt"),
            ("en;q=0.5, DE;q=0.6", "de"),
            ("de;q=0, en", "en"),
            ("de;q=x, pt", "pt"),
            ("ja, *", "en"),
            ("deutsch", "en"),
            ("", "en"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, accepted.parse().expect("a header"));
            assert_eq!(choose(&headers, &offered), expected, "{accepted}");
        }
        assert_eq!(choose(&HeaderMap::new(), &["fr".to_owned()]), "fr");
    }

    #[test]
    fn parts_of_other_languages_are_left_out() {
        let template = "<html lang=\"en\" dir=\"ltr\">\n<a data-language=\"en\">\n\
                        <a data-language=\"de\">\n<b>";

        assert_eq!(
            localise(template, "de"),
            "<html lang=\"de\" dir=\"ltr\">\n<a data-language=\"de\">\n<b>"
        );
    }
}
