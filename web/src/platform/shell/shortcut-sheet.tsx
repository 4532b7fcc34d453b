import { Dialog } from "../../components/dialog";
import { Keys } from "../../components/keys";
import { Switch } from "../../components/switch";
import { setPreferences, usePreferences } from "../lib/preferences";
import { type Shortcut, useActiveShortcuts } from "../lib/shortcuts";
import { texts } from "../texts";

/** By group, each shortcut once: the one that works. */
export function groupShortcuts(active: readonly Shortcut[]): [group: string, shortcuts: Shortcut[]][] {
  const groups = new Map<string, Map<string, Shortcut>>();
  for (const shortcut of active) {
    if (!shortcut.label) continue;
    const group = shortcut.group ?? texts.shortcuts.thisScreen;
    if (!groups.has(group)) groups.set(group, new Map());
    groups.get(group)!.set(shortcut.keys, shortcut);
  }
  return [...groups].map(([group, shortcuts]) => [group, [...shortcuts.values()]]);
}

/** All shortcuts that work now (N9). */
export default function ShortcutSheet({ onClose }: { onClose: () => void }) {
  const groups = groupShortcuts(useActiveShortcuts());
  const { letterKeys } = usePreferences();
  return (
    <Dialog title={texts.shortcuts.title} onClose={onClose} size="md">
      <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
        {groups.map(([group, shortcuts]) => (
          <section key={group} aria-label={group} className="grid content-start gap-1">
            <h3 className="text-xs font-medium text-faint">{group}</h3>
            <dl className="grid">
              {shortcuts.map(({ keys, label }) => (
                <div key={keys} className="flex min-h-7 items-center justify-between gap-4 text-dense">
                  <dt>{label}</dt>
                  <dd>
                    <Keys keys={keys} />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <div className="border-t border-line pt-4">
        <Switch
          label={texts.shortcuts.letterKeys}
          hint={texts.shortcuts.letterKeysHint}
          isOn={letterKeys}
          onSwitch={(isOn) => setPreferences({ letterKeys: isOn })}
        />
      </div>
    </Dialog>
  );
}
