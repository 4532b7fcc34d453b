//! Projects, keys, tokens: the platform API and the control socket
