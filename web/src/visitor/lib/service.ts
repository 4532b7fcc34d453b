// The operator's texts, in the language of the page where there are several.

import { texts } from "../texts";
import { type ProfileField, settings } from "./settings";

/** The name of the service, or "Your account". */
export const serviceName = settings.title ?? texts.common.yourAccount;

/** "Back to Harbour", or to "the application" if it has no name. */
export const backToApplication = texts.common.backTo(settings.title ?? texts.common.theApplication);

/** The operator's profile fields, with the label of the page's language if there is one. */
export const profileFields: ProfileField[] = settings.profileFields.map((field) => ({
  ...field,
  label: field.labels?.[texts.language.tag] ?? field.label,
}));
