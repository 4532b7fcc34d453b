import { captchaContainerId } from "../lib/captcha";
import { settings } from "../lib/settings";

/** Container of the CAPTCHA widget; once per page, near the form that needs it. */
export function CaptchaContainer() {
  return settings.captcha && <div id={captchaContainerId} className="empty:hidden" />;
}
