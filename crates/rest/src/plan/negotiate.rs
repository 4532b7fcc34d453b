//! Negotiates the media type of the response (rest contract §3.4, §3.5).

use crate::{
    RestError,
    request::media_type::{MediaType, PlanType},
    schema_cache::{MediaHandler, QualifiedName, SchemaCache},
};

/// How rows become a body, and the body's media type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Output<'a> {
    pub(crate) handler: Handler<'a>,
    pub(crate) media_type: MediaType,
}

/// What turns rows into a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Handler<'a> {
    /// No body: HEAD, or a mutation with `return=minimal`.
    Nothing,
    Json {
        strips_nulls: bool,
    },
    Object {
        strips_nulls: bool,
    },
    GeoJson,
    Csv,
    Custom(&'a MediaHandler),
}

impl Output<'_> {
    /// `Some` if the execution plan is requested instead of the rows.
    pub(crate) fn explain(&self) -> Option<&PlanType> {
        match &self.media_type {
            MediaType::Plan(plan) => Some(plan),
            _ => None,
        }
    }

    /// Whether exactly one row is requested.
    pub(crate) fn is_singular(&self) -> bool {
        matches!(self.media_type, MediaType::Object { .. })
    }
}

/// What is available for a request.
pub(super) struct Offer<'a, 'n> {
    pub(super) cache: &'a SchemaCache,
    pub(super) relation: &'n QualifiedName,
    /// Media handlers of a relation need whole rows.
    pub(super) selects_everything: bool,
    pub(super) allows_plans: bool,
}

/// The first accepted type that is available.
pub(super) fn negotiate<'a>(
    accepted: &[MediaType],
    offer: &Offer<'a, '_>,
) -> Result<Output<'a>, RestError> {
    let found = accepted
        .iter()
        .find_map(|media_type| offer.find(media_type));
    found.ok_or_else(|| RestError::NotAcceptable(accepted.iter().map(MediaType::mime).collect()))
}

impl<'a> Offer<'a, '_> {
    fn find(&self, media_type: &MediaType) -> Option<Output<'a>> {
        let as_requested = |handler| {
            Some(Output {
                handler,
                media_type: media_type.clone(),
            })
        };
        match media_type {
            MediaType::Object { strips_nulls } => as_requested(Handler::Object {
                strips_nulls: *strips_nulls,
            }),
            MediaType::ArrayStripped => as_requested(Handler::Json { strips_nulls: true }),
            MediaType::Plan(plan) if self.allows_plans => {
                let of = self.find(&plan.of)?;
                as_requested(of.handler)
            }
            MediaType::Plan(_) => None,
            _ => self.custom(media_type).or_else(|| built_in(media_type)),
        }
    }

    fn custom(&self, media_type: &MediaType) -> Option<Output<'a>> {
        let mime = media_type.mime();
        let relation = Some((&*self.relation.schema, &*self.relation.name));
        let of_relation = || {
            self.cache
                .media_handler(relation, "*/*")
                .or_else(|| self.cache.media_handler(relation, &mime))
        };
        let handler = self
            .selects_everything
            .then(of_relation)
            .flatten()
            .or_else(|| self.cache.media_handler(None, &mime))?;
        Some(Output {
            handler: Handler::Custom(handler),
            media_type: MediaType::parse(&handler.response_type),
        })
    }
}

fn built_in<'a>(media_type: &MediaType) -> Option<Output<'a>> {
    let (handler, media_type) = match media_type {
        MediaType::Any | MediaType::Json => (
            Handler::Json {
                strips_nulls: false,
            },
            MediaType::Json,
        ),
        MediaType::Csv => (Handler::Csv, MediaType::Csv),
        MediaType::GeoJson => (Handler::GeoJson, MediaType::GeoJson),
        _ => return None,
    };
    Some(Output {
        handler,
        media_type,
    })
}
