//! `N`, that many in each hour, or `N/duration`: a bucket of N tokens that gets one more per
//! duration.

use plinth_settings::parse_duration;

use crate::config::Rate;

pub(super) const EXPECTED: &str = "a number such as 30, or a rate such as 30/1m";

pub(super) fn parse(text: &str) -> Option<Rate> {
    let is_count = |count: &f64| count.is_finite() && *count >= 0.0;
    if let Some(count) = text.parse().ok().filter(is_count) {
        return Some(Rate::in_each_hour(count));
    }
    let (count, per) = text.split_once('/')?;
    let count: u32 = count.parse().ok()?;
    let per = parse_duration(per).filter(|per| !per.is_zero())?;
    Some(Rate::steady(1.0, per, f64::from(count)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_forms_are_read() {
        assert_eq!(parse("30"), Some(Rate::in_each_hour(30.0)));
        assert_eq!(parse("0"), Some(Rate::in_each_hour(0.0)));
        let slow = Rate::steady(1.0, Duration::from_secs(10), 5.0);
        assert_eq!(parse("5/10s"), Some(slow));
        for bad in [
            "", "-1", "NaN", "inf", "1/", "1/x", "/1s", "1.5/1s", "1/0s", "1/1s/1s",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_rate_or_none(text in ".{0,20}") {
            _ = parse(&text);
        }
    }
}
