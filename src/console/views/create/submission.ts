import { useRef, useState } from 'preact/hooks';
import type { Timeline } from '../../../http/routes/tasks/task-timeline.ts';
import { type ApiError, apiErrorOf, sendJson } from '../../api/request.ts';
import type { Model } from '../../api/resource.ts';
import type { Task } from '../../api/tasks.ts';
import { showToast } from '../../components/toast.tsx';
import { type Draft, draftOf, type Kind } from './draft.ts';
import { faultsOf } from './fields.ts';
import type { Gallery } from './gallery.tsx';
import { requestOf } from './request.ts';
import type { CreateStore } from './store.ts';
import { createTask } from './submit.ts';

export interface Submission {
  /** Why the server refused the last request. */
  readonly error: ApiError | undefined;
  readonly forgetError: () => void;
  readonly isBusy: boolean;
  /** Creates the task of a draft. */
  readonly submit: (sent: Draft) => Promise<void>;
  /** Takes the draft that a task came from; null where the server does not answer. */
  readonly reuse: (task: Task) => Promise<Draft | null>;
  /** Takes the draft of a task and sends it again. */
  readonly retry: (task: Task) => Promise<void>;
}

/**
 * Sends drafts of a kind, one at a time.
 *
 * @param modelOf the model of a draft
 * @param onCreated called when the server has created a task
 */
export function useSubmission(
  kind: Kind,
  store: CreateStore,
  gallery: Gallery,
  modelOf: (draft: Draft) => Model,
  onCreated: () => void,
): Submission {
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const isSending = useRef(false);
  const submit = async (sent: Draft) => {
    const model = modelOf(sent);
    const request = requestOf({ kind, model, draft: sent });
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    setError(undefined);
    try {
      const key = store.keyOf(kind, JSON.stringify(request));
      const { id, ignored } = await createTask(request, key);
      if (ignored) showToast(`The model ignores: ${ignored}`);
      store.acknowledge(kind, id, sent);
      const task = { task_id: id, status: 'pending', model: model.id, type: kind } as const;
      gallery.add({ ...task, result: null, error: null });
      onCreated();
      // On a narrow screen the results are below the form.
      document.getElementById('results')?.scrollIntoView({ block: 'nearest' });
    } catch (failure) {
      setError(apiErrorOf(failure));
    }
    isSending.current = false;
    setBusy(false);
  };

  const reuse = async (task: Task): Promise<Draft | null> => {
    try {
      const found = store.state.sent[task.task_id] ?? (await draftOfTask(task));
      store.replace(kind, found);
      setError(undefined);
      return found;
    } catch (failure) {
      showToast((failure as Error).message, { isFault: true });
      return null;
    }
  };
  const retry = async (task: Task) => {
    const found = await reuse(task);
    if (!found) return;
    const faults = faultsOf({ kind, model: modelOf(found), draft: found });
    if (Object.keys(faults).length === 0) await submit(found);
  };
  return { error, forgetError: () => setError(undefined), isBusy, submit, reuse, retry };
}

/** The draft of a task that another tab or a program created. @throws ApiError */
async function draftOfTask({ task_id: id, model }: Task): Promise<Draft> {
  const { request } = await sendJson<Timeline>(`v1/tasks/${encodeURIComponent(id)}/timeline`);
  return draftOf(request, model);
}
