// Set-up of the unit tests: modules expect loaded texts.

import { loadTexts } from ".";

await loadTexts("en");
