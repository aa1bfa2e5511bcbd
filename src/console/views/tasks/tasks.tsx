import type { ViewProps } from '../../components/navigation.tsx';
import { TaskDetail } from './task-detail.tsx';
import { TaskTable } from './task-table.tsx';
import css from './tasks.css';

export const style = css;

/** The tasks of the account, and one task at an address of its own. */
export default function Tasks({ place }: ViewProps) {
  const id = place.rest;
  return id === '' ? <TaskTable query={place.query} /> : <TaskDetail key={id} id={id} />;
}
