// Every component of the kit with its states, in both themes and both densities. Development only: it is not in
// builds, and its texts are not in the catalogue.

import { Boxes, Copy, Database, Pencil, Plus, Settings, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";

import { Badge, StateLabel } from "../../components/badge";
import { Button } from "../../components/button";
import { Sparkline, TimeChart } from "../../components/chart";
import { CodeBlock, CopyLine } from "../../components/code-block";
import { ComboboxField } from "../../components/combobox";
import { ConfirmDialog } from "../../components/confirm";
import { Bone, Empty, ErrorState, Loading, RowsSkeleton, StaleBadge } from "../../components/data-states";
import { Dialog } from "../../components/dialog";
import { Checkbox, FormId, SecretField, TextField } from "../../components/field";
import { IconButton } from "../../components/icon-button";
import { Keys } from "../../components/keys";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../../components/menu";
import { Notice } from "../../components/notice";
import { NumberField } from "../../components/number-field";
import { PageHeading } from "../../components/page-heading";
import { Panel } from "../../components/panel";
import { Progress } from "../../components/progress";
import { SaveBar } from "../../components/save-bar";
import { SearchField } from "../../components/search-field";
import { Segments } from "../../components/segments";
import { SelectField } from "../../components/select";
import { Sheet } from "../../components/sheet";
import { Stat } from "../../components/stat";
import { Switch } from "../../components/switch";
import { type Sort, Table } from "../../components/table";
import { Tabs } from "../../components/tabs";
import { TextAreaField } from "../../components/text-area";
import { Time } from "../../components/time";
import { toast } from "../../components/toast";
import { DisabledReason, Tooltip } from "../../components/tooltip";
import { VirtualList } from "../../components/virtual-list";
import { Failure } from "../../lib/failure";
import { formatBytes } from "../../lib/format";

const types = ["text", "int8", "timestamptz", "uuid", "jsonb", "numeric"].map((value) => ({
  value,
  label: value,
}));

const failure = new Failure("server_error", "connection to the database was lost", [], {
  retryAfter: null,
  requestId: "01jd2rk3yv8m",
});

const hours = Array.from({ length: 48 }, (_, at) => ({
  at: new Date(Date.UTC(2026, 10, 18) + at * 1_800_000).toISOString(),
  value: 40 + Math.round(50 * Math.sin(at / 7) ** 2),
}));

const staleSince = Date.now() - 240_000;

const tables = [
  { name: "orders", rows: 2_413_880, bytes: 912_000_000 },
  { name: "order_items", rows: 9_120_004, bytes: 2_100_000_000 },
  { name: "Bestellungen ‮gnp.exe", rows: 3, bytes: 16_384 },
];

export default function Kit() {
  return (
    <div className="grid gap-6 p-4 lg:grid-cols-2">
      <div className="lg:col-span-2">
        <PageHeading>Kit</PageHeading>
      </div>
      {(["light", "dark"] as const).map((theme) => (
        <div
          key={theme}
          data-app="console"
          data-theme={theme}
          data-density={theme === "dark" ? "compact" : undefined}
          className="grid content-start gap-6 rounded-lg border border-line bg-page p-5 text-text"
        >
          <h2 className="text-lg font-semibold">
            {theme === "light" ? "Light, comfortable" : "Dark, compact"}
          </h2>
          <FormId value={theme}>
            <Parts />
          </FormId>
        </div>
      ))}
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="grid gap-3">
      <h3 className="text-xs font-medium text-faint">{title}</h3>
      {children}
    </section>
  );
}

const Row = ({ children }: { children: ReactNode }) => (
  <div className="flex flex-wrap items-center gap-2">{children}</div>
);

function Parts() {
  return (
    <>
      <Buttons />
      <Fields />
      <Floating />
      <Part title="Badge, StateLabel, Keys, Time">
        <Row>
          <Badge>plain</Badge>
          <Badge tone="good">good</Badge>
          <Badge tone="warn">warn</Badge>
          <Badge tone="danger">danger</Badge>
          <Badge tone="info">info</Badge>
          <Badge tone="accent">accent</Badge>
        </Row>
        <Row>
          <StateLabel state="good">Active</StateLabel>
          <StateLabel state="warn">Slow</StateLabel>
          <StateLabel state="danger">Unhealthy</StateLabel>
          <StateLabel state="waiting">Starting</StateLabel>
          <StateLabel state="paused">Paused</StateLabel>
        </Row>
        <Row>
          <Keys keys="mod+k" />
          <Keys keys="g t" />
          <Keys keys="mod+enter" />
          <Time at="2026-11-18T10:00:00Z" />
          <Time at="2026-11-18T10:00:00Z" form="utc" />
        </Row>
      </Part>
      <Part title="Tabs">
        <Tabs
          label="Parts of a table"
          tabs={[
            { id: "columns", title: "Columns", content: "The columns." },
            { id: "indexes", title: "Indexes", aside: <Badge>3</Badge>, content: "The indexes." },
            { id: "policies", title: "Policies", content: "The policies." },
          ]}
        />
      </Part>
      <Part title="Table">
        <SortedTable />
      </Part>
      <Part title="VirtualList (10,000 items)">
        <VirtualList
          label="Numbers"
          items={Array.from({ length: 10_000 }, (_, index) => `Row ${index + 1}`)}
          itemKey={(item) => item}
          estimate={28}
          className="thin-scroll h-36 rounded-lg border border-line bg-surface"
        >
          {(item) => (
            <div className="flex h-7 items-center border-b border-line-soft px-3 text-dense">{item}</div>
          )}
        </VirtualList>
      </Part>
      <Charts />
      <States />
      <Part title="CodeBlock, CopyLine">
        <CodeBlock
          title="query.sql"
          label="Query"
          code={"select id, total\nfrom orders\nwhere customer_id = 'O0Il1';"}
        />
        <CopyLine label="Key" text="sb_publishable_Zk4vQ0m1xJtL8wYhR2nDgA_p7Xc2d9T" />
      </Part>
      <FormWithSaveBar />
    </>
  );
}

function Buttons() {
  return (
    <Part title="Button, IconButton">
      <Row>
        <Button>Create table</Button>
        <Button variant="secondary">Export</Button>
        <Button variant="danger">Drop table</Button>
        <Button variant="ghost">Cancel</Button>
        <Button variant="quiet" size="text">
          Learn more
        </Button>
      </Row>
      <Row>
        <Button size="sm">
          <Plus aria-hidden className="size-3.5" /> Add row
        </Button>
        <Button size="sm" variant="secondary">
          Small
        </Button>
        <Button isBusy busyLabel="Saving…">
          Save
        </Button>
        <DisabledReason reason="Your role may not change the schema.">
          <Button disabled>Disabled</Button>
        </DisabledReason>
        <IconButton label="Edit" icon={Pencil} keys="e" />
        <IconButton label="Delete" icon={Trash2} size="sm" />
        <Segments
          label="Range"
          value="24h"
          options={[
            { value: "1h", label: "1 h" },
            { value: "24h", label: "24 h" },
          ]}
          onValue={() => {}}
        />
      </Row>
    </Part>
  );
}

function Fields() {
  const [values, setValues] = useState({
    type: "text",
    column: "",
    limit: "100",
    search: "",
    name: "orders",
  });
  const [isOn, setOn] = useState(true);
  const set = (name: keyof typeof values) => (value: string) => setValues({ ...values, [name]: value });
  return (
    <Part title="Fields">
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          name="name"
          label="Name"
          value={values.name}
          onValue={set("name")}
          hint="As SQL will write it."
        />
        <TextField
          name="wrong"
          label="Ref"
          value="Shop"
          onValue={() => {}}
          error="Use 20 letters from a to z."
        />
        <SelectField name="type" label="Type" value={values.type} onValue={set("type")} options={types} />
        <ComboboxField
          name="column"
          label="Column"
          value={values.column}
          onValue={set("column")}
          options={types}
          placeholder="Choose or type"
        />
        <NumberField name="limit" label="Row limit" unit="rows" value={values.limit} onValue={set("limit")} />
        <SecretField
          name="secret"
          label="Secret"
          revealLabel="Show secret"
          value="correct horse"
          onValue={() => {}}
          autoComplete="off"
        />
        <TextAreaField
          name="sql"
          label="Check"
          value={"total >= 0\nand currency <> ''"}
          onValue={() => {}}
          isCode
        />
        <SearchField label="Search tables" value={values.search} onValue={set("search")} keys="/" />
      </div>
      <Switch
        label="Row-level security"
        hint="Without policies nobody reads rows."
        isOn={isOn}
        onSwitch={setOn}
      />
      <Switch
        label="Realtime"
        isOn={false}
        onSwitch={() => {}}
        disabledReason="The table has no primary key."
      />
      <Checkbox name="check" label="Also drop dependent views" isChecked={false} onCheck={() => {}} />
    </Part>
  );
}

function Floating() {
  const [open, setOpen] = useState<"dialog" | "confirm" | "sheet" | null>(null);
  const close = () => setOpen(null);
  return (
    <Part title="Menu, Tooltip, Dialog, ConfirmDialog, Sheet, Toast">
      <Row>
        <Menu label="Table" button={<Button variant="secondary">Menu</Button>}>
          <MenuLabel>orders</MenuLabel>
          <MenuItem icon={Pencil} keys="e">
            Edit table
          </MenuItem>
          <MenuItem icon={Copy}>Copy as SQL</MenuItem>
          <MenuItem icon={Settings} disabledReason="Only owners may do this.">
            Change owner
          </MenuItem>
          <MenuSeparator />
          <MenuItem icon={Trash2} tone="danger">
            Drop table
          </MenuItem>
        </Menu>
        <Tooltip text="2,413,880 rows" keys="mod+i">
          <Button variant="ghost">Tooltip</Button>
        </Tooltip>
        <Button variant="secondary" onClick={() => setOpen("dialog")}>
          Dialog
        </Button>
        <Button variant="secondary" onClick={() => setOpen("confirm")}>
          Confirm
        </Button>
        <Button variant="secondary" onClick={() => setOpen("sheet")}>
          Sheet
        </Button>
        <Button
          variant="secondary"
          onClick={() => toast("Row 1042 deleted.", { action: { label: "Undo", run: () => {} } })}
        >
          Toast
        </Button>
      </Row>
      {open === "dialog" && (
        <Dialog
          title="Rename table"
          lead="Views and functions that use it keep working."
          onClose={close}
          actions={
            <>
              <Button variant="secondary" onClick={close}>
                Cancel
              </Button>
              <Button onClick={close}>Rename table</Button>
            </>
          }
        >
          <TextField name="rename" label="New name" value="orders" onValue={() => {}} />
        </Dialog>
      )}
      {open === "confirm" && (
        <ConfirmDialog
          title="Drop table orders?"
          action="Drop table"
          typed="orders"
          onConfirm={async () => {}}
          onClose={close}
        >
          <p>2,413,880 rows, 4 indexes and the view monthly_revenue go with it.</p>
        </ConfirmDialog>
      )}
      {open === "sheet" && (
        <Sheet title="Row 1042" onClose={close} actions={<Button onClick={close}>Save row</Button>}>
          <TextField name="total" label="total" value="129.90" onValue={() => {}} />
        </Sheet>
      )}
    </Part>
  );
}

function SortedTable() {
  const [sort, setSort] = useState<Sort>({ column: "rows", direction: "descending" });
  const factor = sort.direction === "ascending" ? 1 : -1;
  const rows = tables.toSorted((a, b) =>
    sort.column === "name" ? a.name.localeCompare(b.name) * factor : (a.rows - b.rows) * factor,
  );
  return (
    <Table
      label="Tables"
      rows={rows}
      rowKey={(row) => row.name}
      sort={sort}
      onSort={setSort}
      columns={[
        { id: "name", title: "Name", isSortable: true, cell: (row) => row.name },
        {
          id: "rows",
          title: "Rows",
          align: "end",
          isSortable: true,
          cell: (row) => row.rows.toLocaleString(),
        },
        {
          id: "bytes",
          title: "Size",
          align: "end",
          isSecondary: true,
          cell: (row) => formatBytes(row.bytes),
        },
      ]}
    />
  );
}

function Charts() {
  return (
    <Part title="Chart, Sparkline, Stat, Progress">
      <div className="grid grid-cols-2 rounded-lg border border-line bg-surface">
        <Stat label="Requests" value="3,120" note="rising">
          <TimeChart
            kind="bars"
            label="Requests"
            timeLabel="Time"
            format={String}
            series={[{ name: "ok", tone: 1, points: hours }]}
          />
        </Stat>
        <Stat label="p95" value="38 ms">
          <TimeChart
            kind="line"
            label="p95"
            timeLabel="Time"
            format={String}
            series={[{ name: "p95", tone: 2, points: hours }]}
          />
        </Stat>
      </div>
      <Sparkline points={hours.map(({ value }) => value)} label="3,120 requests, rising" className="w-40" />
      <Progress label="Import" done={3} total={7} />
    </Part>
  );
}

function States() {
  return (
    <Part title="Loading, empty, error, stale">
      <RowsSkeleton label="Loading tables" rows={2} />
      <Loading label="Loading">
        <Bone className="h-6 w-40" />
      </Loading>
      <Empty
        icon={Boxes}
        title="No tables yet"
        action={
          <>
            <Button>Create table</Button>
            <Button variant="quiet" size="text">
              Read about tables
            </Button>
          </>
        }
      >
        A table keeps rows of one kind.
      </Empty>
      <ErrorState title="The tables could not be loaded." error={failure} onRetry={() => {}} />
      <Row>
        <StaleBadge since={staleSince} />
      </Row>
      <Notice tone="info">The table is being analysed.</Notice>
      <Notice tone="good">3 rows were added.</Notice>
      <Notice tone="warn">Row-level security is off.</Notice>
      <Notice tone="danger">3 rows were refused; line 14: total is empty.</Notice>
      <Panel title="Panel" aside={<Database aria-hidden className="size-4" />}>
        <p className="text-dense text-soft">A titled part of a screen.</p>
      </Panel>
    </Part>
  );
}

function FormWithSaveBar() {
  const [name, setName] = useState("shop");
  const [saved, setSaved] = useState("shop");
  return (
    <Part title="Form with save bar">
      <TextField name="project" label="Project name" value={name} onValue={setName} />
      <SaveBar
        isDirty={name !== saved}
        isBusy={false}
        onSave={() => setSaved(name)}
        onDiscard={() => setName(saved)}
      />
    </Part>
  );
}
