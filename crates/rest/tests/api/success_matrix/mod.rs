//! Successful responses, by method and requested representation (rest contract §2.1).

mod calls;
mod writes;
