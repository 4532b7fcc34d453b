//! Parses one media type.

use winnow::{
    ModalResult, Parser,
    ascii::multispace0,
    combinator::{alt, delimited, preceded, repeat, separated_pair},
    token::take_while,
};

use super::{MediaType, PlanFormat, PlanOption, PlanType};

impl MediaType {
    /// Never fails: text that is not a media type becomes [`MediaType::Other`].
    pub(crate) fn parse(text: &str) -> Self {
        // Fast path for nearly all requests.
        match text {
            "*/*" => return Self::Any,
            "application/json" => return Self::Json,
            _ => {}
        }
        // Text after the last valid parameter is ignored.
        match tokens.parse_next(&mut &*text) {
            Ok(tokens) => Self::of_tokens(&tokens).unwrap_or_else(|| Self::Other(text.to_owned())),
            Err(_) => Self::Other(text.to_owned()),
        }
    }

    fn of_tokens(tokens: &Tokens<'_>) -> Option<Self> {
        let main_type = tokens.main_type.to_lowercase();
        let subtype = tokens.subtype.to_lowercase();
        let strips_nulls = tokens.parameter("nulls") == Some("stripped");
        let known = match (&main_type[..], &subtype[..]) {
            ("application", "json") => Self::Json,
            ("application", "geo+json") => Self::GeoJson,
            ("text", "csv") => Self::Csv,
            ("text", "plain") => Self::TextPlain,
            ("text", "xml") => Self::TextXml,
            ("application", "openapi+json") => Self::OpenApi,
            ("application", "x-www-form-urlencoded") => Self::UrlEncoded,
            ("application", "octet-stream") => Self::OctetStream,
            ("application", "vnd.pgrst.plan" | "vnd.pgrst.plan+text") => {
                tokens.plan(PlanFormat::Text)
            }
            ("application", "vnd.pgrst.plan+json") => tokens.plan(PlanFormat::Json),
            ("application", "vnd.pgrst.object" | "vnd.pgrst.object+json") => {
                Self::Object { strips_nulls }
            }
            ("application", "vnd.pgrst.array" | "vnd.pgrst.array+json") => {
                if strips_nulls {
                    Self::ArrayStripped
                } else {
                    Self::Json
                }
            }
            ("*", "*") => Self::Any,
            _ => return None,
        };
        Some(known)
    }
}

/// `type/subtype; name=value; …`
struct Tokens<'a> {
    main_type: &'a str,
    subtype: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl Tokens<'_> {
    /// The last one of that name, ignoring case.
    fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter().rev();
        let (_, value) = parameters.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    fn plan(&self, format: PlanFormat) -> MediaType {
        let of = match self.parameter("for") {
            // Recurses for a plan of a plan; quotes do not nest, so the depth is bounded.
            Some(of) => MediaType::parse(of),
            None => MediaType::Json,
        };
        let given = self.parameter("options").unwrap_or_default();
        let is_given = |option: &PlanOption| given.split('|').any(|name| name == option.name());
        let options = PlanOption::ALL.into_iter().filter(is_given).collect();
        MediaType::Plan(Box::new(PlanType {
            of,
            format,
            options,
        }))
    }
}

fn tokens<'a>(text: &mut &'a str) -> ModalResult<Tokens<'a>> {
    let is_main = |char: char| char.is_alphanumeric() || matches!(char, '.' | '*');
    let is_sub = |char: char| char.is_alphanumeric() || matches!(char, '.' | '*' | '+' | '-');
    let mut types = separated_pair(take_while(1.., is_main), '/', take_while(1.., is_sub));
    let (main_type, subtype) = types.parse_next(text)?;
    let parameters = repeat(0.., parameter).parse_next(text)?;
    Ok(Tokens {
        main_type,
        subtype,
        parameters,
    })
}

fn parameter<'a>(text: &mut &'a str) -> ModalResult<(&'a str, &'a str)> {
    let name = take_while(1.., |char: char| char.is_alphanumeric() || char == '-');
    let is_bare = |char: char| char.is_alphanumeric() || matches!(char, '|' | '-');
    let quoted = delimited('"', take_while(0.., |char| char != '"'), '"');
    let value = alt((quoted, take_while(1.., is_bare)));
    let equals = (multispace0, '=', multispace0);
    let semicolon = (multispace0, ';', multispace0);
    preceded(semicolon, separated_pair(name, equals, value)).parse_next(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(of: MediaType, format: PlanFormat, options: &[PlanOption]) -> MediaType {
        let options = options.to_vec();
        MediaType::Plan(Box::new(PlanType {
            of,
            format,
            options,
        }))
    }

    fn check(text: &str, expected: MediaType) {
        assert_eq!(MediaType::parse(text), expected, "{text}");
    }

    #[test]
    fn known_types_are_recognised_in_any_case_and_with_any_parameters() {
        check("application/json", MediaType::Json);
        check("application/json; charset=utf-8", MediaType::Json);
        check("application/json;junk", MediaType::Json);
        check("Application/JSON", MediaType::Json);
        check("*/*", MediaType::Any);
        check("text/csv", MediaType::Csv);
        check("application/x-www-form-urlencoded", MediaType::UrlEncoded);
        check("application/openapi+json", MediaType::OpenApi);
        check("application/geo+json", MediaType::GeoJson);
    }

    #[test]
    fn vendor_types_know_their_parameters() {
        let object = |strips_nulls| MediaType::Object { strips_nulls };
        check("application/vnd.pgrst.object+json", object(false));
        check("application/vnd.pgrst.object", object(false));
        check("ApplicatIon/vnd.PgRsT.object+json", object(false));
        check(
            "application/vnd.pgrst.object+json;nulls=stripped",
            object(true),
        );
        check(
            "application/vnd.pgrst.object+json; NULLS=stripped",
            object(true),
        );
        check("application/vnd.pgrst.array+json", MediaType::Json);
        check(
            "application/vnd.pgrst.array;nulls=stripped",
            MediaType::ArrayStripped,
        );
    }

    #[test]
    fn plans_say_of_what_and_how() {
        let json = || MediaType::Json;
        check(
            "application/vnd.pgrst.plan",
            plan(json(), PlanFormat::Text, &[]),
        );
        check(
            "application/vnd.pgrst.plan;",
            plan(json(), PlanFormat::Text, &[]),
        );
        check(
            "application/vnd.pgrst.plan+text; for=\"application/json\"; options=;",
            plan(json(), PlanFormat::Text, &[]),
        );
        check(
            "application/vnd.pgrst.plan+json;for=\"text/csv\"",
            plan(MediaType::Csv, PlanFormat::Json, &[]),
        );
        check(
            "application/vnd.pgrst.plan ; for=\"text/xml\" ; options=wal|analyze|bogus",
            plan(
                MediaType::TextXml,
                PlanFormat::Text,
                &[PlanOption::Analyze, PlanOption::Wal],
            ),
        );
    }

    #[test]
    fn other_texts_stand_for_themselves() {
        for text in [
            "text/Unknown",
            "image/png;x=1",
            "undefined",
            "",
            "a/",
            "/b",
            "text/*",
        ] {
            check(text, MediaType::Other(text.to_owned()));
        }
    }

    #[test]
    fn names_are_written_back() {
        let check = |text: &str, mime: &str, content_type: &str| {
            let parsed = MediaType::parse(text);
            assert_eq!(parsed.mime(), mime);
            assert_eq!(parsed.content_type(), content_type);
        };
        check(
            "application/json",
            "application/json",
            "application/json; charset=utf-8",
        );
        check("text/plain", "text/plain", "text/plain; charset=utf-8");
        check(
            "application/octet-stream",
            "application/octet-stream",
            "application/octet-stream",
        );
        check("image/png", "image/png", "image/png");
        check(
            "application/vnd.pgrst.object;nulls=stripped",
            "application/vnd.pgrst.object+json;nulls=stripped",
            "application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8",
        );
        let plan = "application/vnd.pgrst.plan+json; for=\"application/json\"; options=verbose";
        check(plan, plan, &format!("{plan}; charset=utf-8"));
    }
}
