// The sections of a project, in the order of the sidebar (console contract §1.2).

import {
  Activity,
  Archive,
  BookText,
  ChartLine,
  Database,
  Folder,
  GitBranch,
  House,
  type LucideIcon,
  Radio,
  ScrollText,
  Settings,
  ShieldCheck,
  SquareFunction,
  SquareTerminal,
  Table2,
  Users,
} from "lucide-react";

import { texts } from "../texts";

export type Section = {
  id: string;
  /** Below `/project/<ref>`. */
  path: string;
  label: string;
  icon: LucideIcon;
  /** After `g`. */
  key?: string;
  /** What one needs to see it at all (contract F12). */
  capability: "signed_in" | "observe" | "read_rows" | "develop" | "admin";
};

export type SectionGroup = { label: string; sections: readonly Section[] };

const t = texts.sections;

export const sectionGroups: readonly SectionGroup[] = [
  {
    label: t.build,
    sections: [
      { id: "home", path: "", label: t.home, icon: House, key: "h", capability: "signed_in" },
      { id: "editor", path: "/editor", label: t.editor, icon: Table2, key: "t", capability: "read_rows" },
      { id: "sql", path: "/sql", label: t.sql, icon: SquareTerminal, key: "s", capability: "observe" },
      {
        id: "database",
        path: "/database",
        label: t.database,
        icon: Database,
        key: "d",
        capability: "observe",
      },
      {
        id: "policies",
        path: "/policies",
        label: t.policies,
        icon: ShieldCheck,
        key: "p",
        capability: "observe",
      },
      { id: "auth", path: "/auth", label: t.auth, icon: Users, key: "a", capability: "read_rows" },
      { id: "storage", path: "/storage", label: t.storage, icon: Folder, key: "b", capability: "read_rows" },
      {
        id: "functions",
        path: "/functions",
        label: t.functions,
        icon: SquareFunction,
        key: "f",
        capability: "observe",
      },
      { id: "realtime", path: "/realtime", label: t.realtime, icon: Radio, capability: "observe" },
    ],
  },
  {
    label: t.observe,
    sections: [
      { id: "logs", path: "/logs", label: t.logs, icon: ScrollText, key: "l", capability: "observe" },
      { id: "reports", path: "/reports", label: t.reports, icon: ChartLine, key: "r", capability: "observe" },
      { id: "advisors", path: "/advisors", label: t.advisors, icon: Activity, capability: "observe" },
    ],
  },
  {
    label: t.manage,
    sections: [
      { id: "branches", path: "/branches", label: t.branches, icon: GitBranch, capability: "observe" },
      { id: "backups", path: "/backups", label: t.backups, icon: Archive, capability: "admin" },
      { id: "api", path: "/api", label: t.api, icon: BookText, capability: "signed_in" },
      { id: "settings", path: "/settings", label: t.settings, icon: Settings, capability: "develop" },
    ],
  },
].map((group) => ({ ...group, sections: group.sections as Section[] }));

/** Sections with screens in this build; the others are shown in development, where screens are built. */
const ready = new Set(["home"]);

export const isReady = ({ id }: Section) => ready.has(id) || import.meta.env.DEV;
