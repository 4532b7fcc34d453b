//! The process's own log on stderr, in PostgREST's format: `05/Mar/2026:07:08:09 +0000: message`.

use std::fmt;

use plinth_rest::LogLevel;
use time::OffsetDateTime;
use tracing::{Event, Subscriber, field::Visit};
use tracing_subscriber::{
    EnvFilter,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// `PLINTH_LOG` takes a filter; the default is level info.
pub(super) fn init(level: LogLevel) {
    let default = match level {
        LogLevel::Debug => "info,plinth=debug,plinth_rest=debug,plinth_db=debug",
        _ => "info",
    };
    let filter = EnvFilter::try_from_env("PLINTH_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .event_format(MessageOnly)
        .init();
}

/// The format of the access log and of PostgREST.
pub(super) fn timestamp(at: OffsetDateTime) -> String {
    let month = at.month().to_string();
    format!(
        "{:02}/{}/{:04}:{:02}:{:02}:{:02} +0000",
        at.day(),
        &month[..3],
        at.year(),
        at.hour(),
        at.minute(),
        at.second()
    )
}

/// Time and message, without fields.
struct MessageOnly;

impl<S, N> FormatEvent<S, N> for MessageOnly
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut message = Message(String::new());
        event.record(&mut message);
        let message = message.0.replace(['\n', '\r'], " ");
        writeln!(
            writer,
            "{}: {message}",
            timestamp(OffsetDateTime::now_utc())
        )
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn times_are_written_as_apache_does() {
        assert_eq!(
            timestamp(datetime!(2026-11-30 23:05:09 UTC)),
            "30/Nov/2026:23:05:09 +0000"
        );
    }
}
