//! The service with the real Deno, over a real database: functions as users write them.

mod deployed;
mod faults;
mod folder;
mod imports;
mod kept_warm;
mod limits;
mod prewarmed;
mod rejections;
mod sandbox;
mod serving;
mod streams;
mod support;
mod times;
mod workers;
