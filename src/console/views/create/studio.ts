import { useEffect } from 'preact/hooks';
import type { Timeline } from '../../../http/routes/tasks/tasks.ts';
import { useAction } from '../../api/action.ts';
import { sendJson } from '../../api/request.ts';
import { type Model, useAccount } from '../../api/resource.ts';
import type { Task } from '../../api/tasks.ts';
import { open } from '../../components/navigation.tsx';
import { showToast } from '../../components/toast.tsx';
import { type Draft, draftOf, EMPTY_DRAFT, type Input, type Kind } from './draft.ts';
import { draftFaults } from './fields.ts';
import { useGallery } from './gallery.tsx';
import { requestOf } from './request.ts';
import { useCreateStore } from './store.ts';
import { createTask } from './submit.ts';

export interface StudioProps {
  readonly kind: Kind;
  /** Of this kind; at least one. */
  readonly models: readonly Model[];
  readonly hasVideo: boolean;
  readonly query: URLSearchParams;
  readonly account: string;
}

export type Studio = ReturnType<typeof useStudio>;

/** The draft of one kind of media, what was made, and what the user does with both. */
export function useStudio({ kind, models, hasVideo, query, account: accountId }: StudioProps) {
  const store = useCreateStore(accountId);
  const account = useAccount();
  const gallery = useGallery(kind, account.reload);
  const draft = store.state.drafts[kind];
  const wanted = query.get('model');
  const find = (id: string | null | undefined) => models.find((model) => model.id === id);
  const modelOf = ({ values }: Draft) => find(values['model']) ?? models[0]!;
  const model = modelOf(draft);
  useEffect(() => {
    if (find(wanted)) store.fill(kind, { model: wanted! });
  }, [wanted]);
  const submission = useAction(async (sent: Draft) => {
    const chosen = modelOf(sent);
    const request = requestOf({ kind, model: chosen, draft: sent });
    const key = store.keyOf(kind, JSON.stringify(request));
    const { id, ignored } = await createTask(request, key);
    if (ignored) showToast(`The model ignores: ${ignored}`);
    store.acknowledge(kind, id, sent);
    const task = { task_id: id, status: 'pending', model: chosen.id, type: kind } as const;
    gallery.add({ ...task, result: null, error: null });
    account.reload();
    // On a narrow screen the results are below the form.
    document.getElementById('results')?.scrollIntoView({ block: 'nearest' });
  });
  const { error, isBusy, run: submit, forgetError } = submission;
  /** Takes the draft that a task came from; null where the server does not answer. */
  const reuse = async (task: Task): Promise<Draft | null> => {
    try {
      const found = store.state.sent[task.task_id] ?? (await draftOfTask(task));
      store.replace(kind, found);
      forgetError();
      return found;
    } catch (failure) {
      showToast((failure as Error).message, { isFault: true });
      return null;
    }
  };
  return {
    ...{ kind, models, model, draft, hasVideo, gallery, error, isBusy, submit, reuse },
    /** Credits of the account; undefined until they are known. */
    available: account.data?.credits.available,
    replaced: store.state.replaced[kind],
    bringBack: () => store.bringBack(kind),
    change: (changed: Partial<Draft>) => {
      forgetError();
      store.change(kind, changed);
    },
    /** Adds an image after an upload, in whose time the draft may have changed. */
    addInput: (input: Input) =>
      store.change(kind, { inputs: [...store.state.drafts[kind].inputs, input] }),
    fill: (values: Draft['values']) => {
      forgetError();
      store.fill(kind, values);
      if (!values['model']) return;
      const picked = new URLSearchParams({ model: values['model'] });
      open(`create/${kind}?${picked}`, { replace: true });
    },
    reset: () => {
      forgetError();
      store.replace(kind, { ...EMPTY_DRAFT, values: { model: model.id } });
    },
    /** Takes the draft of a task and sends it again. */
    retry: async (task: Task) => {
      const found = await reuse(task);
      if (!found) return;
      const faults = draftFaults({ kind, model: modelOf(found), draft: found });
      if (Object.keys(faults).length === 0) await submit(found);
    },
    /** The prompt of a task; undefined while only an event has named one of another tab or program. */
    promptOf: ({ task_id: id, request }: Task) => {
      const prompt = request?.['prompt'];
      return typeof prompt === 'string' ? prompt : store.state.sent[id]?.values['prompt'];
    },
    /** Starts a draft from an image of the gallery. */
    startFrom: (url: string, use: Draft['use'] | 'video') => {
      const { drafts } = store.state;
      const inputs = [{ url, name: 'image of the gallery' }];
      if (use === 'video') {
        store.replace('video', { ...drafts.video, inputs });
        open('create/video');
        return;
      }
      store.replace('image', { ...drafts.image, inputs, use, mask: null });
      open('create/image', { replace: true });
      scrollTo(0, 0);
    },
  };
}

/** The draft of a task that another tab or a program created. @throws ApiError */
async function draftOfTask({ task_id: id, model }: Task): Promise<Draft> {
  const { request } = await sendJson<Timeline>(`v1/tasks/${encodeURIComponent(id)}/timeline`);
  return draftOf(request, model);
}
