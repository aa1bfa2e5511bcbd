// The store over PostgreSQL with the options of the benchmark's other stores. The query of the module's URL has the
// built driver, the database and the schema.

const query = new URL(import.meta.url).searchParams;
const { openPostgresStore } = (await import(query.get('driver')!)) as {
  openPostgresStore(options: object): Promise<unknown>;
};

export function openStore(options: object): Promise<unknown> {
  const [url, schema] = [query.get('url'), query.get('schema')];
  return openPostgresStore({ poolSize: 8, ...options, url, schema });
}
