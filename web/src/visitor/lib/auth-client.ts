// The auth client of the project that these pages belong to.

import { createAuthClient } from "../../lib/auth-client";
import { settings } from "./settings";

export const auth = createAuthClient(settings);
