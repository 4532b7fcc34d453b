//! The service with the real Deno, over a real database: functions as users write them.

mod deployed;
mod faults;
mod folder;
mod imports;
mod limits;
mod refusals;
mod residents;
mod sandbox;
mod serving;
mod spares;
mod streams;
mod support;
mod times;
mod workers;
