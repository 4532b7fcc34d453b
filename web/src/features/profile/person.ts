import type { User } from "@supabase/auth-js";

import { type ProfileField, settings } from "../../lib/settings";
import * as texts from "../../texts";

const name: ProfileField = { key: "full_name", label: texts.common.name, required: false, max: 200 };

/** What people can say about themselves: as the operator declares it, at least a name. */
export const profileFields = settings.profileFields.length > 0 ? settings.profileFields : [name];

export function metadataText(user: User, key: string): string {
  const value: unknown = user.user_metadata[key];
  return typeof value === "string" ? value : "";
}

export const nameOf = (user: User) => metadataText(user, "full_name") || metadataText(user, "name");

/** Up to two letters for the picture. */
export function initialsOf(user: User): string {
  const words = (nameOf(user) || user.email || user.phone || "?").split(/[\s@.]+/).filter(Boolean);
  const [first = "?", second = ""] = words;
  return (nameOf(user) ? first.slice(0, 1) + second.slice(0, 1) : first.slice(0, 1)).toUpperCase();
}

/** A picture, if it is on this site: others are not asked for anything from these pages. */
export function pictureOf(user: User): string | null {
  try {
    const url = new URL(metadataText(user, "avatar_url"), window.location.origin);
    return metadataText(user, "avatar_url") && url.origin === window.location.origin ? url.href : null;
  } catch {
    return null;
  }
}
