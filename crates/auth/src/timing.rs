//! Responses whose duration does not reveal whether a user exists.
//!
//! Sending a message takes much longer than finding out that no user has the address. A response
//! without a message is therefore delayed by a duration drawn from those of recent requests that
//! sent one, so that both have the same distribution. A common minimum would not do: whatever
//! exceeds it has sent a message. Responses after a message and errors are not delayed.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{AuthError, contact::Contact, random, request::RequestContext};

/// How many durations are kept of each medium.
const KEPT: usize = 64;
/// Older durations say nothing about the provider as it is now.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// The bounds of a delay while no duration is known: what mail servers and SMS providers usually take.
const ASSUMED: (Duration, Duration) = (Duration::from_millis(200), Duration::from_millis(800));
/// A provider that is slower than this shows in the duration of responses.
const MAX_DELAY: Duration = Duration::from_secs(5);

/// What a request did before it responded.
pub(crate) enum Outcome<T> {
    /// It sent a message.
    Sent(T),
    /// There was no recipient.
    Silent(T),
    /// The message was for a test number, to which nothing is sent.
    NotDelivered(T),
}

impl<T> Outcome<T> {
    /// After a message to this contact.
    pub(crate) fn after_message(context: &RequestContext, to: &Contact, response: T) -> Self {
        if is_test_number(context, to) {
            Self::NotDelivered(response)
        } else {
            Self::Sent(response)
        }
    }

    pub(crate) fn into_response(self) -> T {
        match self {
            Self::Sent(response) | Self::Silent(response) | Self::NotDelivered(response) => {
                response
            }
        }
    }
}

/// Runs the work of a request that responds in the same way whether the user exists or not.
pub(crate) async fn even_out<T>(
    context: &RequestContext,
    contact: &Contact,
    work: impl Future<Output = Result<Outcome<T>, AuthError>>,
) -> Result<T, AuthError> {
    let start = Instant::now();
    let medium = Medium::of(contact);
    let durations = &context.state.send_durations;
    match work.await? {
        Outcome::Sent(response) => {
            let end = Instant::now();
            durations.record(medium, end - start, end);
            Ok(response)
        }
        Outcome::Silent(response) if !is_test_number(context, contact) => {
            let random = u64::from_le_bytes(random::bytes());
            let delay = durations
                .draw(medium, Instant::now(), random)
                .unwrap_or_else(|| assumed_delay(context, medium, random));
            tokio::time::sleep_until(start + delay.min(MAX_DELAY)).await;
            Ok(response)
        }
        Outcome::Silent(response) | Outcome::NotDelivered(response) => Ok(response),
    }
}

fn is_test_number(context: &RequestContext, contact: &Contact) -> bool {
    let test_numbers = &context.config.sms.test_numbers;
    match contact {
        Contact::Email(_) => false,
        Contact::Phone(phone) => test_numbers.code(phone, context.now).is_some(),
    }
}

/// The delay before any message was sent; none if mails are only stored in the development mailbox.
fn assumed_delay(context: &RequestContext, medium: Medium, random: u64) -> Duration {
    let config = &context.config;
    let is_remote = match medium {
        Medium::Mail => config.mail.smtp.is_some() || config.hooks.send_email.is_some(),
        Medium::Phone => true,
    };
    if !is_remote {
        return Duration::ZERO;
    }
    let (shortest, longest) = ASSUMED;
    let range = (longest - shortest).as_millis() as u64;
    shortest + Duration::from_millis(random % (range + 1))
}

/// Messages by the same medium are expected to take as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Medium {
    Mail,
    Phone,
}

impl Medium {
    fn of(contact: &Contact) -> Self {
        match contact {
            Contact::Email(_) => Self::Mail,
            Contact::Phone(_) => Self::Phone,
        }
    }
}

/// How long recent requests that sent a message took, in one project.
#[derive(Default)]
pub(crate) struct SendDurations {
    mail: Mutex<VecDeque<Recorded>>,
    phone: Mutex<VecDeque<Recorded>>,
}

struct Recorded {
    duration: Duration,
    at: Instant,
}

impl SendDurations {
    fn record(&self, medium: Medium, duration: Duration, now: Instant) {
        let mut kept = self
            .of(medium)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Recorded { duration, at: now });
    }

    /// One of the recent durations, each as likely as the others.
    fn draw(&self, medium: Medium, now: Instant, random: u64) -> Option<Duration> {
        let mut kept = self
            .of(medium)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        kept.retain(|recorded| now.saturating_duration_since(recorded.at) <= MAX_AGE);
        let index = random.checked_rem(kept.len() as u64)?;
        kept.get(index as usize).map(|recorded| recorded.duration)
    }

    fn of(&self, medium: Medium) -> &Mutex<VecDeque<Recorded>> {
        match medium {
            Medium::Mail => &self.mail,
            Medium::Phone => &self.phone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that can be drawn, in order.
    fn drawn(durations: &SendDurations, medium: Medium, now: Instant) -> Vec<Duration> {
        let draw = |random| durations.draw(medium, now, random);
        let mut drawn: Vec<Duration> = (0..KEPT as u64).filter_map(draw).collect();
        drawn.sort_unstable();
        drawn
    }

    fn milliseconds(range: impl Iterator<Item = u64>) -> Vec<Duration> {
        range.map(Duration::from_millis).collect()
    }

    /// The slowest messages too: a duration that only they had would prove that there was one.
    #[test]
    fn delays_are_distributed_as_the_durations_of_messages() {
        let (durations, now) = (SendDurations::default(), Instant::now());
        for duration in milliseconds(1..=KEPT as u64) {
            durations.record(Medium::Mail, duration, now);
        }

        let drawn = drawn(&durations, Medium::Mail, now);

        assert_eq!(drawn, milliseconds(1..=KEPT as u64));
    }

    #[test]
    fn mails_say_nothing_about_text_messages() {
        let (durations, now) = (SendDurations::default(), Instant::now());
        durations.record(Medium::Mail, Duration::from_millis(5), now);

        assert_eq!(durations.draw(Medium::Phone, now, 0), None);
    }

    #[test]
    fn only_recent_messages_count() {
        let (durations, start) = (SendDurations::default(), Instant::now());
        durations.record(Medium::Mail, Duration::from_secs(60), start);
        let later = start + MAX_AGE;
        durations.record(Medium::Mail, Duration::from_millis(5), later);
        assert!(drawn(&durations, Medium::Mail, later).contains(&Duration::from_secs(60)));

        let after = later + Duration::from_secs(1);
        let left = drawn(&durations, Medium::Mail, after);
        assert_eq!(left, vec![Duration::from_millis(5); KEPT]);

        for duration in milliseconds(1..=2 * KEPT as u64) {
            durations.record(Medium::Mail, duration, after);
        }
        let newest = milliseconds(KEPT as u64 + 1..=2 * KEPT as u64);
        assert_eq!(drawn(&durations, Medium::Mail, after), newest);

        let long_after = after + MAX_AGE + Duration::from_secs(1);
        assert_eq!(durations.draw(Medium::Mail, long_after, 0), None);
    }
}
