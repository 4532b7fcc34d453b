//! `Preference-Applied`: the preferences that took effect (rest contract §3.2).

use http::HeaderName;

use super::ResponseBuilder;
use crate::{
    plan::MutatePlan,
    request::{
        ApiRequest, Mutation,
        preferences::{
            Count, Handling, Missing, Preferences, Representation, Resolution, TransactionEnd,
        },
    },
};

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

impl ResponseBuilder {
    pub(super) fn applied(&mut self, preferences: Preferences) {
        let text = render(&preferences);
        if !text.is_empty() {
            self.header(PREFERENCE_APPLIED, text);
        }
    }
}

/// Preferences that apply to every request.
pub(super) fn of_read(request: &ApiRequest) -> Preferences {
    let requested = &request.preferences;
    Preferences {
        count: requested.count,
        transaction: requested.transaction,
        handling: requested.handling,
        timezone: requested.timezone.clone(),
        ..Preferences::default()
    }
}

pub(super) fn of_call(request: &ApiRequest) -> Preferences {
    Preferences {
        max_affected: request.preferences.max_affected,
        ..of_read(request)
    }
}

pub(super) fn of_mutation(request: &ApiRequest, plan: &MutatePlan<'_>) -> Preferences {
    let requested = &request.preferences;
    let has_target = !plan.table.primary_key.is_empty() || request.query.on_conflict.is_some();
    let is_insert = plan.mutation == Mutation::Insert;
    let is_update = plan.mutation == Mutation::Update;
    let is_delete = plan.mutation == Mutation::Delete;
    Preferences {
        resolution: requested.resolution.filter(|_| is_insert && has_target),
        representation: requested.representation,
        missing: requested.missing.filter(|_| is_insert || is_update),
        max_affected: requested.max_affected.filter(|_| is_update || is_delete),
        ..of_read(request)
    }
}

fn render(preferences: &Preferences) -> String {
    let max_affected = preferences
        .max_affected
        .filter(|_| preferences.is_strict())
        .map(|most| format!("max-affected={most}"));
    let timezone = preferences
        .timezone
        .as_ref()
        .map(|timezone| format!("timezone={timezone}"));
    let applied = [
        preferences.resolution.map(Resolution::token),
        preferences.missing.map(Missing::token),
        preferences.representation.map(Representation::token),
        preferences.count.map(Count::token),
        preferences.transaction.map(TransactionEnd::token),
        preferences.handling.map(Handling::token),
        timezone.as_deref(),
        max_affected.as_deref(),
    ];
    applied.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
