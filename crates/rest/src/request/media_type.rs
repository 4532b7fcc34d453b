//! Media types as clients write them in `Accept` and `Content-Type` (rest contract §3.4).

mod accept;
mod parse;

/// A media type; those with a meaning in the protocol have a variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum MediaType {
    /// `*/*`.
    Any,
    Json,
    GeoJson,
    Csv,
    OpenApi,
    UrlEncoded,
    OctetStream,
    TextPlain,
    TextXml,
    /// `application/vnd.pgrst.object+json`.
    Object {
        strips_nulls: bool,
    },
    /// `application/vnd.pgrst.array+json;nulls=stripped`; without stripping it is [`Self::Json`].
    ArrayStripped,
    Plan(Box<PlanType>),
    /// As written.
    Other(String),
}

/// `application/vnd.pgrst.plan+…; for="…"; options=…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PlanType {
    pub(crate) of: MediaType,
    pub(crate) format: PlanFormat,
    pub(crate) options: Vec<PlanOption>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PlanFormat {
    Json,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PlanOption {
    Analyze,
    Verbose,
    Settings,
    Buffers,
    Wal,
}

impl MediaType {
    /// As in lists of media types: without charset.
    pub(crate) fn mime(&self) -> String {
        let text = match self {
            Self::Any => "*/*",
            Self::Json => "application/json",
            Self::GeoJson => "application/geo+json",
            Self::Csv => "text/csv",
            Self::OpenApi => "application/openapi+json",
            Self::UrlEncoded => "application/x-www-form-urlencoded",
            Self::OctetStream => "application/octet-stream",
            Self::TextPlain => "text/plain",
            Self::TextXml => "text/xml",
            Self::Object {
                strips_nulls: false,
            } => "application/vnd.pgrst.object+json",
            Self::Object { strips_nulls: true } => {
                "application/vnd.pgrst.object+json;nulls=stripped"
            }
            Self::ArrayStripped => "application/vnd.pgrst.array+json;nulls=stripped",
            Self::Plan(plan) => return plan.mime(),
            Self::Other(text) => text,
        };
        text.to_owned()
    }

    /// The value of `Content-Type` for a body of this type.
    pub(crate) fn content_type(&self) -> String {
        match self {
            Self::OctetStream | Self::Other(_) => self.mime(),
            _ => self.mime() + "; charset=utf-8",
        }
    }
}

impl PlanType {
    fn mime(&self) -> String {
        let format = match self.format {
            PlanFormat::Json => "json",
            PlanFormat::Text => "text",
        };
        let of = self.of.mime();
        let mut mime = format!("application/vnd.pgrst.plan+{format}; for=\"{of}\"");
        for (at, option) in self.options.iter().enumerate() {
            mime.push_str(if at == 0 { "; options=" } else { "|" });
            mime.push_str(option.name());
        }
        mime
    }
}

impl PlanOption {
    /// In the order in which `options` lists them.
    const ALL: [Self; 5] = [
        Self::Analyze,
        Self::Verbose,
        Self::Settings,
        Self::Buffers,
        Self::Wal,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Analyze => "analyze",
            Self::Verbose => "verbose",
            Self::Settings => "settings",
            Self::Buffers => "buffers",
            Self::Wal => "wal",
        }
    }
}
