//! Tests of policies (console contract N82): what somebody may do with a table, and which policy decides.
//!
//! The operation is run as that somebody in a transaction that is rolled back. Beside it each policy's
//! expressions are evaluated, also as that somebody, for the rows in question: they are read by the
//! operator, who sees all.

mod catalog;
mod pgtap;
mod report;
mod test;

pub use pgtap::{PgtapCase, pgtap};
pub use report::{
    Decision, Evaluation, PolicyOutcome, PolicyReport, PolicyTest, RowSecurity, SubjectClaims, Verb,
};
pub use test::test_policies;
