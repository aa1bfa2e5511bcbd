import type * as v from 'valibot';
import type { PublishedModel } from '../../config/catalog/published-model.ts';
import type { ObjectSchema } from '../../schema/fields.ts';
import type { Json } from '../canonical/canonical.ts';

/** An HTTP route on which clients speak a dialect. */
export interface Endpoint {
  /**
   * A path in Fastify's notation, where `::` is a colon; its parameter `:model` names the model where the
   * body does not.
   */
  readonly path: string;
  /** Further paths, of clients whose versions or kinds have other ones. They are not documented. */
  readonly aliases?: readonly string[];
  /** Whether its answers are streamed; absent where the body sets `stream`. */
  readonly stream?: boolean;
  readonly summary: string;
  readonly request: v.GenericSchema;
  /** A body that the sandbox's catalog answers; the console's page of the API fills it in. */
  readonly example: object;
  /** The whole response with status 200. */
  readonly response: v.GenericSchema;
}

/** The list of models in the shape of a dialect whose clients know no other. */
export interface ModelListing {
  /** The path of the list; that of a model is below it. Null where it is only at the path of all formats. */
  readonly path: string | null;
  /** The header by which its clients are known at the path of all formats. */
  readonly header: string;
  /** Types of the models that are listed. */
  readonly types: readonly PublishedModel['type'][];
  readonly query: ObjectSchema<ModelPage>;
  readonly entry: v.GenericSchema;
  readonly list: v.GenericSchema;
  entryOf(model: PublishedModel): Json;
  /** @param next the token of the page that follows; null for none */
  listOf(entries: readonly Json[], next: string | null): Json;
}

/** The page of a list that a client asks for. */
export interface ModelPage {
  readonly pageSize?: number | undefined;
  readonly limit?: number | undefined;
  /** The first model of the page; empty for the first page. */
  readonly pageToken?: string | undefined;
  /** The last model of the page before; empty for the first page. */
  readonly after_id?: string | undefined;
}

/** Settings in the URL of a client's request. */
export interface RequestAddress {
  /** Null where the body names the model. */
  readonly model: string | null;
  /** Null where the body sets `stream`. */
  readonly stream: boolean | null;
}
