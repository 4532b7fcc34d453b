//! Every vector that the reference package produced (client contract §2.8), in both directions:
//! what it wrote is written byte for byte, by the cookie functions and by the layer, and what it
//! wrote is read.
//!
//! Nothing in the file goes unread: [`ledger`] keeps count.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod cookies;
mod flows;
mod layer;
mod ledger;
mod reading;
mod writing;

use ledger::Vectors;

/// A new check belongs here, too, or its fields count as unread.
#[tokio::test]
async fn no_field_of_any_vector_goes_unread() {
    let vectors = Vectors::load();

    reading::check_all(&vectors);
    writing::check_all(&vectors);
    layer::check_all(&vectors).await;
    flows::check_all(&vectors).await;

    assert_eq!(vectors.unread(), [""; 0]);
}
