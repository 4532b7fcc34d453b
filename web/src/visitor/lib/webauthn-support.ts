// Whether passkeys and security keys work here.

const ipV4 = /^\d+(\.\d+){3}$/;

/** Credentials are bound to a host name; browsers reject IP addresses. IPv6 hosts are in brackets. */
export const isIpAddress = (host: string) => ipV4.test(host) || host.startsWith("[");

/** Needs a browser with WebAuthn, a secure context, and a host name. */
export const supportsWebAuthn = () =>
  "PublicKeyCredential" in window && window.isSecureContext && !isIpAddress(window.location.hostname);
