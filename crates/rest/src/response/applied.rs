//! `Preference-Applied`: what became of the client's wishes (rest contract §3.2).

use super::{Answer, PREFERENCE_APPLIED};
use crate::{
    plan::MutatePlan,
    request::{
        ApiRequest, Mutation,
        preferences::{
            Count, Handling, Missing, Preferences, Representation, Resolution, TransactionEnd,
        },
    },
};

impl Answer {
    pub(super) fn applied(&mut self, preferences: Preferences) {
        let text = render(&preferences);
        if !text.is_empty() {
            self.header(PREFERENCE_APPLIED, text);
        }
    }
}

/// Those that every request may have.
pub(super) fn of_read(request: &ApiRequest) -> Preferences {
    let asked = &request.preferences;
    Preferences {
        count: asked.count,
        transaction: asked.transaction,
        handling: asked.handling,
        timezone: asked.timezone.clone(),
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
    let asked = &request.preferences;
    let has_target = !plan.table.primary_key.is_empty() || request.query.on_conflict.is_some();
    let is_insert = plan.mutation == Mutation::Insert;
    let is_update = plan.mutation == Mutation::Update;
    let is_delete = plan.mutation == Mutation::Delete;
    Preferences {
        resolution: asked.resolution.filter(|_| is_insert && has_target),
        representation: asked.representation,
        missing: asked.missing.filter(|_| is_insert || is_update),
        max_affected: asked.max_affected.filter(|_| is_update || is_delete),
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
