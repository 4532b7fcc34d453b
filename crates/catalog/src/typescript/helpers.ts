type DatabaseWithoutInternals = Omit<Database, "__InternalSupabase">

type DefaultSchema = DatabaseWithoutInternals[Extract<keyof Database, "public">]

type AnySchema = { schema: keyof DatabaseWithoutInternals }

/** The tables and views of a schema that is named, or of the default one. */
type Relations<Options> = Options extends AnySchema
  ? DatabaseWithoutInternals[Options["schema"]]["Tables"] &
      DatabaseWithoutInternals[Options["schema"]]["Views"]
  : DefaultSchema["Tables"] & DefaultSchema["Views"]

/** One kind of objects of a schema that is named, or of the default one. */
type Members<Options, Kind extends keyof DefaultSchema> = Options extends AnySchema
  ? DatabaseWithoutInternals[Options["schema"]][Kind]
  : DefaultSchema[Kind]

/** The name itself, or the second parameter where the first one is a schema. */
type NameOf<Options, Name> = Options extends AnySchema ? Name : Options

/** The names that a schema offers; none without one. */
type NamesIn<Options, All> = Options extends AnySchema ? keyof All : never

export type Tables<
  Options extends keyof (DefaultSchema["Tables"] & DefaultSchema["Views"]) | AnySchema,
  Name extends NamesIn<Options, Relations<Options>> = never,
> = NameOf<Options, Name> extends infer Key extends keyof Relations<Options>
  ? Relations<Options>[Key] extends { Row: infer Row }
    ? Row
    : never
  : never

export type TablesInsert<
  Options extends keyof DefaultSchema["Tables"] | AnySchema,
  Name extends NamesIn<Options, Members<Options, "Tables">> = never,
> = NameOf<Options, Name> extends infer Key extends keyof Members<Options, "Tables">
  ? Members<Options, "Tables">[Key] extends { Insert: infer Insert }
    ? Insert
    : never
  : never

export type TablesUpdate<
  Options extends keyof DefaultSchema["Tables"] | AnySchema,
  Name extends NamesIn<Options, Members<Options, "Tables">> = never,
> = NameOf<Options, Name> extends infer Key extends keyof Members<Options, "Tables">
  ? Members<Options, "Tables">[Key] extends { Update: infer Update }
    ? Update
    : never
  : never

export type Enums<
  Options extends keyof DefaultSchema["Enums"] | AnySchema,
  Name extends NamesIn<Options, Members<Options, "Enums">> = never,
> = NameOf<Options, Name> extends infer Key extends keyof Members<Options, "Enums">
  ? Members<Options, "Enums">[Key]
  : never

export type CompositeTypes<
  Options extends keyof DefaultSchema["CompositeTypes"] | AnySchema,
  Name extends NamesIn<Options, Members<Options, "CompositeTypes">> = never,
> = NameOf<Options, Name> extends infer Key extends keyof Members<Options, "CompositeTypes">
  ? Members<Options, "CompositeTypes">[Key]
  : never
