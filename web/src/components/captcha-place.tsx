import { captchaId } from "../lib/captcha";
import { settings } from "../lib/settings";

/** Where a check shows its puzzle, if it has one; once per page, near what needs it. */
export function CaptchaPlace() {
  return settings.captcha && <div id={captchaId} className="empty:hidden" />;
}
