//! What success looks like, by verb and by what shall be returned (rest contract §2.1).

mod calls;
mod writes;
