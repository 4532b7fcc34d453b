/// Counts wrong codes.
#[derive(Default)]
pub(crate) struct WrongCodes;
