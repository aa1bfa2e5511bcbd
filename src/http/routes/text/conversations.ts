import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { checkedBody } from '../../../schema/body.ts';
import { field } from '../../../schema/fields.ts';
import { objectOf } from '../../../schema/untrusted.ts';
import type { Document } from '../../../store/document.ts';
import type { KeyHolder } from '../../../store/store.ts';
import type { Json } from '../../../text/canonical/canonical.ts';
import { inputItem } from '../../../text/dialects/responses/item-fields.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { deletedShape, seconds } from '../../request/query.ts';
import { item, itemList, itemQuery, itemsOf, storedOf, unknown } from './responses.ts';

const label = field(v.pipe(v.string(), v.maxLength(512)), 'Value of a label.', {
  expects: 'a text of at most 512 characters',
});
const metadata = v.record(v.string(), label);
const labels = field(v.pipe(metadata, v.maxEntries(16)), 'Labels by name.', {
  expects: 'an object with at most 16 texts',
});
const items = field(v.pipe(v.array(inputItem), v.maxLength(20)), 'Items in their order.', {
  expects: 'a list of at most 20 items',
});

const shape = v.object({
  id: v.string(),
  object: v.literal('conversation'),
  created_at: v.number(),
  metadata,
});

const created = v.object({ metadata: v.nullish(labels), items: v.nullish(items) });
const changed = v.object({ metadata: labels });
const added = v.object({ items });
const example = { type: 'message', role: 'user', content: 'Hello' };

/** Conversations, in OpenAI's shape. */
export function conversationRoutes(server: FastifyInstance, context: AppContext): void {
  const { documents } = context.store;
  const path = '/v1/conversations/:conversation_id' as const;
  const found = async (holder: KeyHolder, id: string) => {
    const document = await storedOf(context, holder).find('conversation', id);
    if (document) return document;
    throw unknown('conversation', id, 'conversation_id');
  };
  const foundItem = async (holder: KeyHolder, conversation: string, id: string) => {
    const document = await storedOf(context, holder).find('conversation_item', id);
    if (document?.parent === conversation) return document;
    throw unknown('item', id, 'item_id');
  };

  addEndpoint(server, {
    path: 'POST /v1/conversations',
    tag: 'Text',
    summary: 'Create a conversation, with items or without',
    body: v.pipe(created, v.examples([{ items: [example] }])),
    answer: shape,
    handler: async ({ holder, body }) => {
      const { metadata: given, items: first } = checkedBody(created, body ?? {});
      const stored = storedOf(context, holder);
      return shown(await stored.create(given ?? {}, (first ?? []) as readonly Json[]));
    },
  });

  addEndpoint(server, {
    path: `GET ${path}`,
    tag: 'Text',
    summary: 'A conversation',
    answer: shape,
    handler: async ({ holder, params }) => shown(await found(holder, params.conversation_id)),
  });

  addEndpoint(server, {
    path: `POST ${path}`,
    tag: 'Text',
    summary: 'Replace the labels of a conversation',
    body: v.pipe(changed, v.examples([{ metadata: { topic: 'ships' } }])),
    answer: shape,
    handler: async ({ holder, params, body }) => {
      const { metadata: given } = checkedBody(changed, body);
      const conversation = await found(holder, params.conversation_id);
      return shown(await documents.change(conversation, { body: { metadata: given } }));
    },
  });

  addEndpoint(server, {
    path: `DELETE ${path}`,
    tag: 'Text',
    summary: 'Delete a conversation with its items',
    answer: deletedShape('conversation.deleted'),
    handler: async ({ holder, params: { conversation_id: id } }) => {
      await documents.remove(await found(holder, id));
      return { id, object: 'conversation.deleted' as const, deleted: true as const };
    },
  });

  addEndpoint(server, {
    path: `POST ${path}/items`,
    tag: 'Text',
    summary: 'Add up to 20 items to a conversation',
    body: v.pipe(added, v.examples([{ items: [example] }])),
    answer: itemList,
    handler: async ({ holder, params: { conversation_id: id }, body }) => {
      const { items: given } = checkedBody(added, body);
      await found(holder, id);
      return itemsOf(await storedOf(context, holder).append(id, given as readonly Json[]), false);
    },
  });

  addEndpoint(server, {
    path: `GET ${path}/items`,
    tag: 'Text',
    summary: 'The items of a conversation',
    query: itemQuery,
    answer: itemList,
    handler: async ({ holder, params: { conversation_id: parent }, query }) => {
      const { accountId } = await found(holder, parent);
      const list = { kind: 'conversation_item', accountId, parent, ...query } as const;
      const { documents: rows, hasMore } = await documents.list(list);
      const bodies = rows.map(({ body }) => body as Json);
      return itemsOf(bodies, hasMore);
    },
  });

  addEndpoint(server, {
    path: `GET ${path}/items/:item_id`,
    tag: 'Text',
    summary: 'An item of a conversation',
    answer: item,
    handler: async ({ holder, params: { conversation_id: id, item_id } }) =>
      (await foundItem(holder, id, item_id)).body as v.InferOutput<typeof item>,
  });

  addEndpoint(server, {
    path: `DELETE ${path}/items/:item_id`,
    tag: 'Text',
    summary: 'Delete an item of a conversation',
    answer: shape,
    handler: async ({ holder, params: { conversation_id: id, item_id } }) => {
      const conversation = await found(holder, id);
      await documents.remove(await foundItem(holder, id, item_id));
      return shown(conversation);
    },
  });
}

function shown({ id, createdAt, body }: Document) {
  const { metadata: labelsOf } = objectOf(body);
  return {
    ...{ id, object: 'conversation' as const, created_at: seconds(createdAt) },
    metadata: objectOf(labelsOf) as Readonly<Record<string, string>>,
  };
}
