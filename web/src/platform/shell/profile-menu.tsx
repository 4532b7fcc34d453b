import { LogOut, Monitor, Moon, Rows3, Rows4, Shield, Sun } from "lucide-react";

import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../../components/menu";
import { useAction } from "../../lib/use-action";
import { accountPage, auth } from "../lib/auth";
import { useMe } from "../lib/me";
import { setPreferences, usePreferences } from "../lib/preferences";
import { texts } from "../texts";

/** "Ada Lovelace" → "AL", "ada@example.com" → "A". */
export function initials(name: string): string {
  const words = name
    .replace(/@.*/, "")
    .split(/[\s._-]+/)
    .filter(Boolean);
  const letters = words.length > 1 ? [words[0]!, words.at(-1)!] : words;
  return letters.map((word) => [...word][0]!.toUpperCase()).join("");
}

/** Signs this device out. The guard of the shell leads to the sign-in page. */
export const signOut = async () => {
  await auth.signOut({ scope: "local" });
};

export function ProfileMenu() {
  const { data: me } = useMe();
  const { theme, density } = usePreferences();
  const { run } = useAction(signOut);
  const email = me?.user?.email ?? "";
  const name = me?.user?.name || email;
  return (
    <Menu
      label={texts.shell.account}
      placement="bottom-end"
      className="w-60"
      button={
        <button
          type="button"
          aria-label={texts.shell.account}
          className="ms-1 grid size-7 shrink-0 place-items-center rounded-full bg-accent-surface text-[0.6875rem] font-semibold text-accent-text outline-offset-2 hover:brightness-95 pointer-coarse:size-9"
        >
          {initials(name) || "·"}
        </button>
      }
    >
      <div className="px-2 pt-1.5 pb-1">
        <p className="truncate font-medium">{name}</p>
        {name !== email && <p className="truncate text-xs text-soft">{email}</p>}
      </div>
      <MenuSeparator />
      <MenuItem icon={Shield} onSelect={() => location.assign(accountPage("/account/security"))}>
        {texts.shell.security}
      </MenuItem>
      <MenuSeparator />
      <MenuLabel>{texts.preferences.theme}</MenuLabel>
      <MenuItem
        icon={Monitor}
        isChosen={theme === "system"}
        onSelect={() => setPreferences({ theme: "system" })}
      >
        {texts.preferences.system}
      </MenuItem>
      <MenuItem icon={Sun} isChosen={theme === "light"} onSelect={() => setPreferences({ theme: "light" })}>
        {texts.preferences.light}
      </MenuItem>
      <MenuItem icon={Moon} isChosen={theme === "dark"} onSelect={() => setPreferences({ theme: "dark" })}>
        {texts.preferences.dark}
      </MenuItem>
      <MenuLabel>{texts.preferences.density}</MenuLabel>
      <MenuItem
        icon={Rows3}
        isChosen={density === "comfortable"}
        onSelect={() => setPreferences({ density: "comfortable" })}
      >
        {texts.preferences.comfortable}
      </MenuItem>
      <MenuItem
        icon={Rows4}
        isChosen={density === "compact"}
        onSelect={() => setPreferences({ density: "compact" })}
      >
        {texts.preferences.compact}
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon={LogOut} onSelect={() => void run()}>
        {texts.shell.signOut}
      </MenuItem>
    </Menu>
  );
}
