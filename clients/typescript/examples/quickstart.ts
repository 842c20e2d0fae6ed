import { MemoryBook, MemoryBookError } from "memorybook-client";

const url = process.env.MEMORYBOOK_URL ?? "http://127.0.0.1:8765";
const book = new MemoryBook({ url, token: process.env.MEMORYBOOK_TOKEN! });

await book.remember("The user prefers green tea.", { category: "preference", importance: "high" });
const found = await book.search("which tea does the user prefer?", { max_results: 1 });
console.log(found.hits.map((hit) => hit.snippet));

await book.processSessionEnd([{ role: "user", content: "记住，我对芒果过敏。" }], { session_id: "support-42" });
console.log((await book.recall("芒果布丁可以吃吗？")).text); // goes into the prompt

try {
  await book.forget({ target: "no-such-id" });
} catch (error) {
  if (error instanceof MemoryBookError) console.log(error.status, error.code, error.message);
}
