import { Link } from "@tanstack/react-router";

import { Sheet } from "../../components/sheet";
import { texts } from "../texts";
import { Mark } from "./mark";
import { Sections } from "./sidebar";

/** The sections on narrow screens. */
export default function SectionSheet({ projectRef, onClose }: { projectRef: string; onClose: () => void }) {
  return (
    <Sheet title={texts.shell.sections} side="start" onClose={onClose}>
      <div className="-m-2.5">
        <Link
          to="/"
          onClick={onClose}
          className="m-1.5 flex h-8 items-center gap-2.5 rounded-md px-2.5 text-dense text-soft hover:bg-hover pointer-coarse:h-11"
        >
          <Mark className="size-4" />
          {texts.shell.allProjects}
        </Link>
        <Sections projectRef={projectRef} isOpen onFollow={onClose} />
      </div>
    </Sheet>
  );
}
