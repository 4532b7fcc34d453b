import { expect, test } from "vitest";

import { isIpAddress } from "./webauthn-support";

test("passkeys need a host name, not an IP address", () => {
  for (const host of ["127.0.0.1", "192.168.0.2", "[::1]", "[fd00::1]"]) expect(isIpAddress(host)).toBe(true);
  for (const host of ["localhost", "app.test", "1.2.3.4.test", "10.0.0"])
    expect(isIpAddress(host)).toBe(false);
});
