//! Accounts: signing up, who exists, passwords, confirmations.

use plinth_db::DbError;

use super::{AuthError, Code, errors, internal_errors};
use crate::error::Kind;

errors! {
    signup_disabled() => 422 SignupDisabled, "Signups not allowed for this instance";
    email_signups_disabled() => 400 EmailProviderDisabled, "Email signups are disabled";
    phone_signups_disabled() => 400 PhoneProviderDisabled, "Phone signups are disabled";
    anonymous_sign_ins_disabled() => 422 AnonymousProviderDisabled,
        "Anonymous sign-ins are disabled";
    otp_signups_disabled() => 422 OtpDisabled, "Signups not allowed for otp";
    signup_without_password() => 400 ValidationFailed, "Signup requires a valid password";

    email_logins_disabled() => 422 EmailProviderDisabled, EMAIL_LOGINS_DISABLED;
    phone_logins_disabled() => 422 PhoneProviderDisabled, PHONE_LOGINS_DISABLED;
    /// At `/recover` and `/resend`.
    email_resend_disabled() => 400 EmailProviderDisabled, EMAIL_LOGINS_DISABLED;
    /// At `/resend`.
    phone_resend_disabled() => 400 PhoneProviderDisabled, PHONE_LOGINS_DISABLED;
    /// At `/otp`.
    phone_otp_disabled() => 400 PhoneProviderDisabled, "Unsupported phone provider";

    user_already_exists() => 422 UserAlreadyExists, "User already registered";
    user_id_exists() => 422 UserAlreadyExists, "A user with this id already exists";
    email_exists() => 422 EmailExists, EMAIL_EXISTS;
    /// At the callback of a provider.
    email_exists_on_linking() => 400 EmailExists, EMAIL_EXISTS;
    phone_exists() => 422 PhoneExists,
        "A user with this phone number has already been registered";
    /// At `/admin/users`.
    phone_exists_for_admin() => 422 PhoneExists,
        "Phone number already registered by another user";

    user_not_found() => 404 UserNotFound, "User not found";
    user_with_email_not_found() => 404 UserNotFound, "User with this email not found";
    user_banned() => 403 UserBanned, USER_BANNED;
    /// At `/token`.
    user_banned_on_grant() => 400 UserBanned, USER_BANNED;

    invalid_credentials() => 400 InvalidCredentials, "Invalid login credentials";
    /// The password hook rejected the attempt, with this text.
    password_attempt_rejected(text: String) => 400 InvalidCredentials, text;
    email_not_confirmed() => 400 EmailNotConfirmed, EMAIL_NOT_CONFIRMED;
    phone_not_confirmed() => 400 PhoneNotConfirmed, PHONE_NOT_CONFIRMED;
    email_not_confirmed_for_passkey() => 403 EmailNotConfirmed, EMAIL_NOT_CONFIRMED;
    phone_not_confirmed_for_passkey() => 403 PhoneNotConfirmed, PHONE_NOT_CONFIRMED;
    email_not_confirmed_for_reauthentication() => 422 EmailNotConfirmed,
        "Please verify your email first.";
    phone_not_confirmed_for_reauthentication() => 422 PhoneNotConfirmed,
        "Please verify your phone first.";

    current_password_required() => 400 CurrentPasswordRequired,
        "Current password required when setting new password.";
    current_password_invalid() => 400 CurrentPasswordInvalid, "Current password is not correct.";
    same_password() => 422 SamePassword,
        "New password should be different from the old password.";
    anonymous_user_password() => 422 ValidationFailed,
        "Updating password of an anonymous user without an email or phone is not allowed";
    reauthentication_needed() => 400 ReauthenticationNeeded,
        "This action requires reauthentication";
    reauthentication_not_valid() => 422 ReauthenticationNotValid,
        "Nonce has expired or is invalid";
    user_sso_managed() => 422 UserSsoManaged,
        "Updating email, phone, password of a SSO account only possible via SSO";
    app_metadata_needs_admin() => 403 NotAdmin, "Updating app_metadata requires admin privileges";
    self_delete_disabled() => 404 FeatureDisabled,
        "Users of this project cannot delete themselves";
}

internal_errors! {
    leaked_password_check_failed =>
        "Unable to perform password strength check with HaveIBeenPwned.org.";
}

const EMAIL_LOGINS_DISABLED: &str = "Email logins are disabled";
const PHONE_LOGINS_DISABLED: &str = "Phone logins are disabled";
const EMAIL_EXISTS: &str = "A user with this email address has already been registered";
const USER_BANNED: &str = "User is banned";
const EMAIL_NOT_CONFIRMED: &str = "Email not confirmed";
const PHONE_NOT_CONFIRMED: &str = "Phone not confirmed";

impl AuthError {
    /// 422 with the reasons, which the body lists.
    pub(crate) fn weak_password(text: String, reasons: Vec<&'static str>) -> Self {
        Self {
            kind: Kind::WeakPassword(reasons),
            ..Self::new(422, Code::WeakPassword, text)
        }
    }

    /// An insert into `auth.users` failed.
    pub(crate) fn saving_user_failed(error: DbError) -> Self {
        Self::database("Database error saving new user", error)
    }

    /// An insert into `auth.users` that an administrator asked for failed.
    pub(crate) fn creating_user_failed(error: DbError) -> Self {
        Self::database("Database error creating new user", error)
    }

    /// An insert of an anonymous user failed.
    pub(crate) fn creating_anonymous_user_failed(error: DbError) -> Self {
        Self::database("Database error creating anonymous user", error)
    }

    /// An update of `auth.users` failed after a token or identity was accepted.
    pub(crate) fn storing_user_failed(error: DbError) -> Self {
        Self::database("Database error updating user", error)
    }

    /// A requested update of `auth.users` failed.
    pub(crate) fn updating_user_failed(error: DbError) -> Self {
        Self::database("Error updating user", error)
    }

    /// A delete from `auth.users` failed.
    pub(crate) fn deleting_user_failed(error: DbError) -> Self {
        Self::database("Database error deleting user", error)
    }
}
