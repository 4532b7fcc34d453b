//! The test vectors of the W3C specification, for `cargo xtask conformance webauthn`. They are no
//! part of this repository: `PLINTH_WEBAUTHN_SPEC` names a copy of the specification's source.

mod ceremonies;
mod specification;

use std::{env, fs};

use ceremonies::Ceremonies;
use specification::Vector;

/// The report has one line for each vector; xtask reads it.
#[test]
#[ignore = "needs a copy of the specification: cargo xtask conformance webauthn"]
fn vectors_of_the_specification_are_verified() {
    let path = env::var_os("PLINTH_WEBAUTHN_SPEC").expect("PLINTH_WEBAUTHN_SPEC is set");
    let text = fs::read_to_string(path).expect("a readable specification");
    let vectors = specification::parse(&text).expect("vectors of the known form");
    assert!(!vectors.is_empty(), "the file has no test vectors");

    // The name of the test may stand on this line already.
    println!();
    let mut failures = 0;
    for vector in &vectors {
        let title = &vector.title;
        match check(vector) {
            Ok(Outcome::Verified(what)) => println!("verified: {title} ({what})"),
            Ok(Outcome::NotSupported(why)) => println!("not supported: {title} ({why})"),
            Err(reason) => {
                failures += 1;
                println!("failed: {title}: {reason}");
            }
        }
    }
    assert_eq!(failures, 0, "vectors failed");
}

enum Outcome {
    Verified(String),
    NotSupported(String),
}

fn check(vector: &Vector) -> Result<Outcome, String> {
    let ceremonies = Ceremonies::read(vector)?;
    if let Some((reason, error)) = ceremonies.unsupported() {
        ceremonies.check_rejected(error)?;
        return Ok(Outcome::NotSupported(reason));
    }
    let credential = ceremonies.check_registration()?;
    ceremonies.check_authentication(&credential)?;
    let statement = match (ceremonies.format.as_str(), &*credential.attestation_type) {
        ("none", _) => "no attestation statement".to_owned(),
        (_, "basic_surrogate") => "self-attestation verified".to_owned(),
        (format, _) => format!("{format} attestation statement not checked"),
    };
    Ok(Outcome::Verified(statement))
}
