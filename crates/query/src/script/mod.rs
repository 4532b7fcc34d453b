//! SQL of an operator, run statement by statement as a stream of events (console contract N72).

mod event;
mod position;
mod restricted;
mod run;

pub use event::{EndState, Event, EventColumn};
pub use position::Script;
pub use run::{Outcome, ScriptOptions, TransactionMode, run};
