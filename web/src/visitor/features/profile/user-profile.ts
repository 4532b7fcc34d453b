import type { User } from "@supabase/auth-js";

import { profileFields as configuredFields } from "../../lib/service";
import type { ProfileField } from "../../lib/settings";
import { texts } from "../../texts";

const nameField: ProfileField = { key: "full_name", label: texts.common.name, required: false, max: 200 };

/** The profile fields that the operator configured; by default only a name. */
export const profileFields = configuredFields.length > 0 ? configuredFields : [nameField];

export function metadataText(user: User, key: string): string {
  const value: unknown = user.user_metadata[key];
  return typeof value === "string" ? value : "";
}

export const displayName = (user: User) => metadataText(user, "full_name") || metadataText(user, "name");

/** Between the creation of a user and its automatic confirmation. */
const sameMomentMs = 2000;

/**
 * Whether it has been verified that the address is the user's: they used a message to it, or a provider
 * vouches for it. A project may also confirm addresses without asking (`isAutoconfirmed`), or have done so
 * when the user was created, which proves nothing.
 */
export function isEmailVerified(user: User, isAutoconfirmed: boolean): boolean {
  const { email_confirmed_at: confirmedAt, email } = user;
  if (!email || !confirmedAt) return false;
  const gotMessage = user.confirmation_sent_at || user.email_change_sent_at || user.invited_at;
  const isVouchedFor = user.identities?.some(
    ({ provider, identity_data: data }) =>
      provider !== "email" &&
      String(data?.["email"]).toLowerCase() === email.toLowerCase() &&
      data?.["email_verified"] === true,
  );
  const wasLater = Date.parse(confirmedAt) - Date.parse(user.created_at) > sameMomentMs;
  return !!gotMessage || !!isVouchedFor || (wasLater && !isAutoconfirmed);
}

/** Up to two letters, shown if there is no avatar. */
export function initials(user: User): string {
  const words = (displayName(user) || user.email || user.phone || "?").split(/[\s@.]+/).filter(Boolean);
  const [first = "?", second = ""] = words;
  return (displayName(user) ? first.slice(0, 1) + second.slice(0, 1) : first.slice(0, 1)).toUpperCase();
}

/** The avatar, if it is on this origin: these pages load nothing from third parties. */
export function avatarUrl(user: User): string | null {
  try {
    const url = new URL(metadataText(user, "avatar_url"), window.location.origin);
    return metadataText(user, "avatar_url") && url.origin === window.location.origin ? url.href : null;
  } catch {
    return null;
  }
}
